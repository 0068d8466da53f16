// Access: a request whose path begins with the token and whose Host is this machine's loopback. A page of another site
// that was made to resolve to 127.0.0.1 has another Host. Every other request gets 403 and nothing else.
#include "views/live/live_server.h"

#include "base/arena.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MOST_CONNECTIONS = 16,      // a browser opens six; each costs the memory below
    CONNECTION_BYTES = 8 << 10, // of a request: more is refused
    IDLE_S = 10,                // a silent connection is closed
    BACKLOG = 16,
};

struct rb_live_server {
    struct rb_live_config config;
    char token[RB_LIVE_TOKEN_HEX + 1];
    int port;
    struct MHD_Daemon *daemon;
    struct live_page {
        struct MHD_Response *page, *data; // counted by the library while they are being sent
    } * pages;                            // [n_pages]
    struct MHD_Response *nothing;
    _Atomic int64_t asked_us; // last, by the monotonic clock; 0: never
};

// --- addresses

static bool take_prefix(const char **text, const char *prefix)
{
    const size_t n = strlen(prefix);
    if (strncmp(*text, prefix, n) != 0)
        return false;
    *text += n;
    return true;
}

// The text behind "127.0.0.1", "localhost" or "[::1]"; NULL: it begins with none of them.
static const char *behind_loopback(const char *text)
{
    return take_prefix(&text, "127.0.0.1") || take_prefix(&text, "localhost") || take_prefix(&text, "[::1]") ? text
                                                                                                             : NULL;
}

static bool parse_port(const char *text, int *out)
{
    int port = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && c - text < 5; c++)
        port = port * 10 + (*c - '0');
    *out = port;
    return c > text && *c == '\0' && port <= 65535;
}

bool rb_live_parse_address(const char *text, int *out_port, struct rb_err *err)
{
    const char *rest = behind_loopback(text);
    int port;
    if (!rest || rest[0] != ':' || !parse_port(rest + 1, &port))
        return rb_err_set(
            err, RB_E_OPTION_VALUE,
            "expected 127.0.0.1:PORT (port 0: any that is free), got \"%.80s\": the page is for this machine "
            "only, as it shows the run to anyone who reaches it; to look from another machine, use a tunnel: "
            "ssh -L 8000:127.0.0.1:PORT this-machine",
            text);
    *out_port = port;
    return true;
}

// --- requests

// Takes the same time wherever they differ.
static bool same_token(const char *given, const char *token)
{
    unsigned char differ = 0;
    for (int i = 0; i < RB_LIVE_TOKEN_HEX; i++)
        differ |= (unsigned char)given[i] ^ (unsigned char)token[i];
    return differ == 0;
}

// The text behind "/TOKEN"; NULL: the path does not begin so.
static const char *behind_token(const struct rb_live_server *s, const char *path)
{
    if (path[0] != '/' || strlen(path) < 1 + RB_LIVE_TOKEN_HEX || !same_token(path + 1, s->token))
        return NULL;
    return path + 1 + RB_LIVE_TOKEN_HEX;
}

struct hosts {
    int n;
    bool loopback; // the last one is
    bool foreign;  // a page of another site asks
};

static bool is_loopback(const char *host)
{
    int port;
    const char *rest = host ? behind_loopback(host) : NULL;
    return rest && (rest[0] == '\0' || (rest[0] == ':' && parse_port(rest + 1, &port)));
}

static enum MHD_Result take_host(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
    struct hosts *hosts = ctx;
    (void)kind;
    if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0) {
        hosts->n++;
        hosts->loopback = is_loopback(value);
    } else if (strcasecmp(key, MHD_HTTP_HEADER_ORIGIN) == 0) {
        hosts->foreign = hosts->foreign || !value || !take_prefix(&value, "http://") || !is_loopback(value);
    }
    return MHD_YES;
}

// Any port: behind a tunnel it is the tunnel's. A browser names the Origin where a page of another site asks.
static bool says_loopback(struct MHD_Connection *connection)
{
    struct hosts hosts = {0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, take_host, &hosts);
    return hosts.n == 1 && hosts.loopback && !hosts.foreign;
}

// --- answers

static struct MHD_Response *make_response(const char *bytes, size_t n, const char *type)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);
    if (!r)
        return NULL;
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer"); // the address holds the token
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(r, "Content-Security-Policy", "frame-ancestors 'none'");
    if (type)
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return r;
}

static void replace(struct MHD_Response **held, const struct rb_buf *bytes, const char *type)
{
    struct MHD_Response *made = make_response(rb_buf_str(bytes), bytes->len, type);
    if (!made)
        return; // no memory: the old content still holds
    if (*held)
        MHD_destroy_response(*held);
    *held = made;
}

static const struct live_page *refresh(struct rb_live_server *s, int number)
{
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT, data = RB_BUF_INIT;
    struct live_page *p = &s->pages[number];
    if (s->config.refresh(s->config.ctx, number, &page, &data)) {
        replace(&p->page, &page, "text/html; charset=utf-8");
        replace(&p->data, &data, "application/json");
    }
    return p;
}

// "/12/data.json": page 12, *out_file is "/data.json"; "/data.json": page 0. -1: there is no such page.
static int page_of(const struct rb_live_server *s, const char *path, const char **out_file)
{
    int number = 0;
    const char *c = path + 1;
    for (; *c >= '0' && *c <= '9' && c - path < 7; c++)
        number = number * 10 + (*c - '0');
    *out_file = c > path + 1 ? c : path;
    const bool is_canonical = c == path + 1 || (path[1] != '0' && *c == '/');
    return is_canonical && number < s->config.n_pages ? number : -1;
}

static struct MHD_Response *make_other(struct rb_live_server *s, const char *path)
{
    RB_AUTO(rb_buf_finish) struct rb_buf bytes = RB_BUF_INIT;
    bool is_json = false;
    return s->config.other && s->config.other(s->config.ctx, path, &bytes, &is_json)
               ? make_response(rb_buf_str(&bytes), bytes.len, is_json ? "application/json" : "text/html; charset=utf-8")
               : NULL;
}

static enum MHD_Result answer(struct rb_live_server *s, struct MHD_Connection *connection, unsigned status,
                              struct MHD_Response *with)
{
    return MHD_queue_response(connection, with ? status : MHD_HTTP_SERVICE_UNAVAILABLE, with ? with : s->nothing);
}

// Answers with a page or a document, which the request remembers until it has been sent.
static enum MHD_Result answer_with(struct rb_live_server *s, struct MHD_Connection *connection,
                                   struct MHD_Response *with, void **sent)
{
    *sent = with;
    return answer(s, connection, MHD_HTTP_OK, with);
}

// Content that has been replaced since does not count.
static void note_sent(void *ctx, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode how)
{
    struct rb_live_server *s = ctx;
    (void)connection;
    if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK || !*request || !s->config.sent)
        return;
    for (int i = 0; i < s->config.n_pages; i++) {
        if (s->pages[i].page == *request || s->pages[i].data == *request)
            s->config.sent(s->config.ctx, i);
    }
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *body, size_t *body_n, void **request)
{
    struct rb_live_server *s = ctx;
    (void)version;
    (void)body;
    (void)body_n;
    const char *path = behind_token(s, url), *file = path;
    if (!path || !says_loopback(connection))
        return answer(s, connection, MHD_HTTP_FORBIDDEN, s->nothing);
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer(s, connection, MHD_HTTP_METHOD_NOT_ALLOWED, s->nothing);
    void *nothing_sent, **sent = strcmp(method, MHD_HTTP_METHOD_GET) == 0 ? request : &nothing_sent;
    const int number = file[0] == '/' ? page_of(s, file, &file) : -1;
    if (number >= 0 && strcmp(file, "/") == 0)
        return answer_with(s, connection, refresh(s, number)->page, sent);
    if (number >= 0 && strcmp(file, "/data.json") == 0) {
        atomic_store(&s->asked_us, rb_clock_monotonic_us());
        return answer_with(s, connection, refresh(s, number)->data, sent);
    }
    struct MHD_Response *other = make_other(s, path);
    if (!other)
        return answer(s, connection, MHD_HTTP_NOT_FOUND, s->nothing);
    const enum MHD_Result queued = answer(s, connection, MHD_HTTP_OK, other);
    MHD_destroy_response(other);
    return queued;
}

// --- the server

bool rb_live_make_token(char out[static RB_LIVE_TOKEN_HEX + 1], struct rb_err *err)
{
    unsigned char bytes[RB_LIVE_TOKEN_HEX / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return rb_err_set(err, RB_E_SYSTEM, "the operating system has no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    explicit_bzero(bytes, sizeof bytes);
    return true;
}

// The socket is closed in every program that is started from here.
static int listen_on_loopback(int port, int *out_port, struct rb_err *err)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    const int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &n) == 0) {
        *out_port = ntohs(at.sin_port);
        return fd;
    }
    rb_err_set(err, RB_E_LIVE_SOCKET, "cannot listen on 127.0.0.1:%d: %s; port 0 takes any that is free", port,
               strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

// The main thread handles signals.
static struct MHD_Daemon *start_daemon(struct rb_live_server *s, int fd)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL, handle, s,
                         MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
                         (unsigned)IDLE_S, MHD_OPTION_NOTIFY_COMPLETED, note_sent, s, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

bool rb_live_server_start(const struct rb_live_config *config, struct rb_live_server **out, struct rb_err *err)
{
    int port;
    const int fd = listen_on_loopback(config->port, &port, err);
    if (fd < 0)
        return false;
    struct rb_live_server *s = rb_xcalloc(1, sizeof *s);
    s->config = *config;
    s->port = port;
    s->pages = rb_xcalloc((size_t)config->n_pages, sizeof *s->pages);
    memcpy(s->token, config->token, RB_LIVE_TOKEN_HEX);
    s->nothing = make_response("", 0, NULL);
    s->daemon = s->nothing ? start_daemon(s, fd) : NULL;
    if (!s->daemon) {
        close(fd);
        rb_live_server_stop(s);
        return rb_err_set(err, RB_E_SYSTEM, "cannot start a thread that serves the page");
    }
    *out = s;
    return true;
}

void rb_live_server_url(const struct rb_live_server *s, struct rb_buf *out)
{
    rb_buf_printf(out, "http://127.0.0.1:%d/%s/", s->port, s->token);
}

bool rb_live_server_is_watched(struct rb_live_server *s, int64_t within_us)
{
    const int64_t asked_us = atomic_load(&s->asked_us);
    return asked_us > 0 && rb_clock_monotonic_us() - asked_us <= within_us;
}

static void drop(struct MHD_Response *held)
{
    if (held)
        MHD_destroy_response(held);
}

void rb_live_server_stop(struct rb_live_server *s)
{
    if (!s)
        return;
    if (s->daemon)
        MHD_stop_daemon(s->daemon); // closes the socket
    for (int i = 0; i < s->config.n_pages; i++) {
        drop(s->pages[i].page);
        drop(s->pages[i].data);
    }
    drop(s->nothing);
    free(s->pages);
    explicit_bzero(s->token, sizeof s->token);
    free(s);
}
