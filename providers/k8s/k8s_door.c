#include "providers/k8s/k8s_door.h"

#include "base/clock.h"
#include "base/document/json.h"
#include "providers/k8s/kube_login.h"
#include "providers/wire/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_QUESTION = 96, MAX_ANSWER_BYTES = 1 << 20, ANSWER_TIMEOUT_MS = 90000 };

// A cluster that was asked for.
struct place {
    struct place *next;
    char name[64];
    struct rb_kubeconfig config;
    struct rb_kube_login *login;
};

struct caller {
    struct caller *next;
    struct rb_kube_door *door;
    int fd;
    char question[MAX_QUESTION];
    size_t n;
    bool is_answered;
};

struct rb_kube_door {
    const struct rb_loop *loop;
    const struct rb_kubernetes_spec *spec;
    char path[RB_KUBE_DOOR_PATH_BYTES];
    int fd; // listens
    struct place *places;
    struct caller *callers;
    int n_callers;
};

static void watch_door(struct rb_kube_door *d);

// --- the answer

static bool place_of(struct rb_kube_door *d, const char *name, struct place **out, struct rb_err *err)
{
    for (struct place *p = d->places; p; p = p->next)
        if (strcmp(p->name, name) == 0) {
            *out = p;
            return true;
        }
    struct place *p = rb_xcalloc(1, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", name);
    if (!rb_kube_place(name, d->spec, &p->config, err)) {
        free(p);
        return false;
    }
    p->login = rb_kube_login_create(d->loop, &p->config);
    p->next = d->places;
    d->places = *out = p;
    return true;
}

static void write_answer(struct rb_kube_door *d, const char *name, bool was_refused, struct rb_buf *out)
{
    struct rb_json j;
    struct rb_err err;
    struct place *p;
    const char *token;
    rb_json_init(&j, out, false);
    if (!place_of(d, name, &p, &err) ||
        (was_refused && !rb_kube_login_forget(p->login) &&
         !rb_err_set(&err, RB_E_K8S_CREDENTIALS, "the cluster does not accept %s", p->config.source)) ||
        !rb_kube_login_get(p->login, &token, &err)) {
        rb_json_put(&j, "{error: %s}", err.message);
    } else {
        const struct rb_http_peer *peer = rb_kube_login_peer(p->login);
        rb_json_put(&j, "{server: %s, namespace: %s, token: %s, ca: %s, cert: %s, key: %s, name: %s, proxy: %s}",
                    p->config.server, p->config.namespace, token, peer->ca_pem, peer->cert_pem, peer->key_pem,
                    peer->tls_name, peer->proxy);
    }
    rb_buf_putc(out, '\n');
}

// --- callers

static void hang_up(struct caller *c)
{
    struct rb_kube_door *d = c->door;
    struct caller **link = &d->callers;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    d->loop->watch(d->loop->ctx, c->fd, 0, NULL, NULL);
    close(c->fd);
    free(c);
    if (d->n_callers-- == RB_KUBE_DOOR_STARTS)
        watch_door(d);
}

// A caller that does not read its answer at once gets none: the socket has room for it.
static bool answer(struct caller *c)
{
    char *end = memchr(c->question, '\n', c->n);
    if (!end)
        return c->n < sizeof c->question - 1;
    *end = '\0';
    char *word = strchr(c->question, ' ');
    if (word)
        *word = '\0';
    struct rb_buf out = RB_BUF_INIT;
    write_answer(c->door, c->question, word != NULL, &out);
    const int size = MAX_ANSWER_BYTES;
    setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    const bool ok = send(c->fd, out.data, out.len, MSG_NOSIGNAL) == (ssize_t)out.len;
    explicit_bzero(out.data, out.cap);
    rb_buf_finish(&out);
    c->is_answered = true;
    return ok;
}

static void on_caller(void *arg, int fd, int ready)
{
    (void)ready;
    struct caller *c = arg;
    const ssize_t n = read(fd, c->question + c->n, sizeof c->question - 1 - c->n);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        c->n += (size_t)n;
    if (n <= 0 || c->is_answered || !answer(c))
        hang_up(c);
}

static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

static void on_door(void *arg, int listener, int ready)
{
    (void)ready;
    struct rb_kube_door *d = arg;
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (!is_ours(fd)) {
        close(fd);
        return;
    }
    struct caller *c = rb_xcalloc(1, sizeof *c);
    *c = (struct caller){.next = d->callers, .door = d, .fd = fd};
    d->callers = c;
    if (++d->n_callers == RB_KUBE_DOOR_STARTS)
        d->loop->watch(d->loop->ctx, d->fd, 0, NULL, NULL); // the others wait
    d->loop->watch(d->loop->ctx, fd, RB_LOOP_READ, on_caller, c);
}

static void watch_door(struct rb_kube_door *d)
{
    d->loop->watch(d->loop->ctx, d->fd, RB_LOOP_READ, on_door, d);
}

// --- life

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(path);
    const mode_t old = umask(0177);
    const bool ok = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 512) == 0;
    umask(old);
    if (!ok && fd >= 0)
        close(fd);
    return ok ? fd : -1;
}

bool rb_kube_door_open(const struct rb_loop *loop, const char *path, const struct rb_kubernetes_spec *spec,
                       struct rb_kube_door **out, struct rb_err *err)
{
    if (strlen(path) >= RB_KUBE_DOOR_PATH_BYTES)
        return rb_err_set(err, RB_E_K8S_DOOR, "%s: too long for the path of a socket", path);
    const int fd = listen_at(path);
    if (fd < 0)
        return rb_err_set(err, RB_E_K8S_DOOR, "cannot listen at %s: %s", path, strerror(errno));
    struct rb_kube_door *d = rb_xcalloc(1, sizeof *d);
    *d = (struct rb_kube_door){.loop = loop, .spec = spec, .fd = fd};
    strcpy(d->path, path);
    watch_door(d);
    *out = d;
    return true;
}

void rb_kube_door_keep(struct rb_kube_door *d)
{
    if (access(d->path, F_OK) == 0)
        return;
    const int fd = listen_at(d->path);
    if (fd < 0)
        return; // the helper reports that no one listens
    d->loop->watch(d->loop->ctx, d->fd, 0, NULL, NULL);
    close(d->fd);
    d->fd = fd;
    if (d->n_callers < RB_KUBE_DOOR_STARTS)
        watch_door(d);
}

static void forget_places(struct rb_kube_door *d)
{
    for (struct place *p = d->places, *next; p; p = next) {
        next = p->next;
        rb_kube_login_destroy(p->login);
        rb_kubeconfig_finish(&p->config);
        free(p);
    }
}

void rb_kube_door_close(struct rb_kube_door *d)
{
    if (!d)
        return;
    while (d->callers)
        hang_up(d->callers);
    d->loop->watch(d->loop->ctx, d->fd, 0, NULL, NULL);
    close(d->fd);
    unlink(d->path);
    forget_places(d);
    free(d);
}

// --- the helper's side

static bool read_answer(int fd, struct rb_buf *out)
{
    char chunk[16384];
    bool ok = false;
    while (!ok && out->len < MAX_ANSWER_BYTES) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, ANSWER_TIMEOUT_MS) <= 0)
            break;
        const ssize_t n = read(fd, chunk, sizeof chunk);
        if (n <= 0)
            break;
        rb_buf_append(out, chunk, (size_t)n);
        ok = chunk[n - 1] == '\n';
    }
    explicit_bzero(chunk, sizeof chunk);
    return ok;
}

static const char *given(const struct rb_node *root, const char *key)
{
    const struct rb_node *n = rb_node_member(root, key);
    return n && n->kind == RB_NODE_STRING ? n->text : NULL;
}

static bool read_key(struct rb_kube_key *key, const struct rb_buf *text, struct rb_err *err)
{
    if (!rb_doc_parse_json(&key->doc, "answer", rb_buf_str(text), text->len, err))
        return false;
    const struct rb_node *root = key->doc.root;
    if (given(root, "error"))
        return rb_err_set(err, RB_E_K8S_CREDENTIALS, "%s", given(root, "error"));
    key->server = given(root, "server");
    key->namespace = given(root, "namespace");
    key->token = given(root, "token");
    key->peer = (struct rb_http_peer){given(root, "ca"), given(root, "cert"), given(root, "key"), given(root, "name"),
                                      given(root, "proxy")};
    return (key->server && key->namespace) || rb_err_set(err, RB_E_ANSWER, "the door said nothing of the cluster");
}

bool rb_kube_door_ask(const char *path, const char *name, bool was_refused, struct rb_kube_key *out, struct rb_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct rb_kube_key key = {.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct rb_buf text = RB_BUF_INIT;
    char question[MAX_QUESTION];
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const int n = snprintf(question, sizeof question, "%.64s%s\n", name, was_refused ? " refused" : "");
    bool ok = (key.fd >= 0 && connect(key.fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
               is_ours(key.fd) && write(key.fd, question, (size_t)n) == n && read_answer(key.fd, &text)) ||
              rb_err_set(err, RB_E_K8S_DOOR, "rbrun does not answer at %s", path);
    ok = ok && read_key(&key, &text, err);
    if (text.data)
        explicit_bzero(text.data, text.cap);
    rb_buf_finish(&text);
    if (ok)
        *out = key;
    else
        rb_kube_key_finish(&key);
    return ok;
}

static int64_t unix_us(void *ctx)
{
    (void)ctx;
    return rb_clock_unix_us();
}

bool rb_kube_door_bypass(const char *name, const struct rb_kubernetes_spec *spec, bool was_refused, struct rb_kube_key *out,
                         struct rb_err *err)
{
    static const struct rb_loop loop = {.unix_us = unix_us}; // all that a login asks of it
    struct rb_kube_door d = {.loop = &loop, .spec = spec};
    struct rb_kube_key key = {.fd = -1};
    struct rb_buf text = RB_BUF_INIT;
    write_answer(&d, name, was_refused, &text);
    const bool ok = read_key(&key, &text, err);
    explicit_bzero(text.data, text.cap);
    rb_buf_finish(&text);
    forget_places(&d);
    if (ok)
        *out = key;
    else
        rb_kube_key_finish(&key);
    return ok;
}

void rb_kube_door_leave(struct rb_kube_key *key)
{
    if (key->fd >= 0)
        close(key->fd);
    key->fd = -1;
}

void rb_kube_key_finish(struct rb_kube_key *key)
{
    rb_kube_door_leave(key);
    rb_private_doc_finish(&key->doc);
}
