// One epoll for both sides of all connections. Each pair has a buffer for each direction, and who fills one is not read while
// it is full. The end of one side's sending becomes the end of ours to the other; a broken side breaks the other.
#include "providers/mock/server/tls_relay.h"
#include "base/arena.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, MAX_PAIRS = 1024, MAX_EVENTS = 64 };

struct pipe {
    char bytes[BUFFER];
    size_t from, to;         // what waits
    bool has_end, has_ended; // the source sends no more; we have said so to the other side
};

struct side {
    struct pair *pair;
    int fd;
    uint32_t interest;
};

struct pair {
    struct rb_tls_relay *relay;
    struct pair *next;
    struct side client, server;
    SSL *ssl;
    struct pipe in, out; // from the client, to the client
    bool is_open;        // the handshake is over
    bool ssl_writes;     // TLS waits for room
    bool is_broken;
};

struct rb_tls_relay {
    SSL_CTX *context;
    int listener, epoll, port, to_port, n_pairs;
    struct pair *first;
};

// --- TLS ---

// An operation that did not succeed: false, the connection is broken.
static bool may_go_on(struct pair *p, int result)
{
    const int why = SSL_get_error(p->ssl, result);
    p->ssl_writes |= why == SSL_ERROR_WANT_WRITE;
    ERR_clear_error();
    if (why == SSL_ERROR_ZERO_RETURN)
        p->in.has_end = true;
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_ZERO_RETURN;
}

static bool shake_hands(struct pair *p)
{
    const int result = SSL_accept(p->ssl);
    p->is_open = result == 1;
    return p->is_open || may_go_on(p, result);
}

// --- the four ways of bytes; each true: it moved some ---

static size_t room(const struct pipe *p)
{
    return p->has_end ? 0 : BUFFER - p->to;
}

static size_t waits(const struct pipe *p)
{
    return p->to - p->from;
}

static void took(struct pipe *p, size_t n)
{
    p->from += n;
    if (p->from == p->to)
        p->from = p->to = 0;
}

static bool read_client(struct pair *p)
{
    const size_t n = room(&p->in);
    if (n == 0)
        return false;
    const int got = SSL_read(p->ssl, p->in.bytes + p->in.to, (int)n);
    if (got > 0)
        p->in.to += (size_t)got;
    else
        p->is_broken |= !may_go_on(p, got);
    return got > 0;
}

static bool write_client(struct pair *p)
{
    const size_t n = waits(&p->out);
    if (n == 0)
        return false;
    const int sent = SSL_write(p->ssl, p->out.bytes + p->out.from, (int)n);
    if (sent > 0)
        took(&p->out, (size_t)sent);
    else
        p->is_broken |= !may_go_on(p, sent);
    return sent > 0;
}

static bool is_later(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN || errno == EINPROGRESS);
}

static bool read_server(struct pair *p)
{
    const size_t n = room(&p->out);
    if (n == 0)
        return false;
    const ssize_t got = recv(p->server.fd, p->out.bytes + p->out.to, n, 0);
    if (got > 0)
        p->out.to += (size_t)got;
    else if (got == 0)
        p->out.has_end = true;
    else
        p->is_broken |= !is_later(got);
    return got > 0;
}

static bool write_server(struct pair *p)
{
    const size_t n = waits(&p->in);
    if (n == 0)
        return false;
    const ssize_t sent = send(p->server.fd, p->in.bytes + p->in.from, n, MSG_NOSIGNAL);
    if (sent > 0)
        took(&p->in, (size_t)sent);
    else
        p->is_broken |= !is_later(sent);
    return sent > 0;
}

static void pass_ends(struct pair *p)
{
    if (p->in.has_end && waits(&p->in) == 0 && !p->in.has_ended) {
        shutdown(p->server.fd, SHUT_WR);
        p->in.has_ended = true;
    }
    if (p->out.has_end && waits(&p->out) == 0 && !p->out.has_ended) {
        SSL_shutdown(p->ssl);
        shutdown(p->client.fd, SHUT_WR);
        p->out.has_ended = true;
    }
}

// --- a pair ---

// With nothing to wait for it is taken out: an end of both directions is reported whether anybody asks or not.
static void watch(struct side *s, uint32_t interest)
{
    if (s->interest == interest)
        return;
    struct epoll_event event = {.events = interest, .data.ptr = s};
    epoll_ctl(s->pair->relay->epoll,
              interest == 0      ? EPOLL_CTL_DEL
              : s->interest == 0 ? EPOLL_CTL_ADD
                                 : EPOLL_CTL_MOD,
              s->fd, &event);
    s->interest = interest;
}

static void go_on(struct pair *p)
{
    p->ssl_writes = false;
    if (!p->is_open) { // the server may be tired of waiting
        read_server(p);
        p->is_broken |= p->out.has_end || !shake_hands(p);
    }
    bool moves = p->is_open;
    for (int turn = 0; moves && !p->is_broken && turn < 8; turn++) { // others wait, too
        moves = read_client(p);
        moves |= write_server(p);
        moves |= read_server(p);
        moves |= write_client(p);
    }
    if (p->is_open)
        pass_ends(p);
    // What TLS holds back, no descriptor shows: the pair comes again at once.
    const bool more = moves || (SSL_pending(p->ssl) > 0 && room(&p->in) > 0);
    watch(&p->client, (!p->is_open || room(&p->in) > 0 ? EPOLLIN : 0u) |
                          (p->ssl_writes || waits(&p->out) > 0 || more ? EPOLLOUT : 0u));
    watch(&p->server, (room(&p->out) > 0 ? EPOLLIN : 0u) | (waits(&p->in) > 0 ? EPOLLOUT : 0u));
}

static bool is_over(const struct pair *p)
{
    return p->is_broken || (p->in.has_ended && p->out.has_ended);
}

static void close_side(struct side *s, bool reset)
{
    const struct linger at_once = {.l_onoff = 1};
    if (reset)
        setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(s->fd);
}

static void free_pair(struct pair *p)
{
    SSL_free(p->ssl);
    close_side(&p->client, p->is_broken);
    close_side(&p->server, p->is_broken);
    p->relay->n_pairs--;
    free(p);
}

static void sweep(struct rb_tls_relay *r)
{
    for (struct pair **at = &r->first; *at;) {
        struct pair *p = *at;
        if (!is_over(p)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free_pair(p);
    }
}

// --- new ones ---

static int connect_to(int port)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) != 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

static void add(struct rb_tls_relay *r, struct side *s, struct pair *p, int fd)
{
    const int yes = 1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
    *s = (struct side){p, fd, EPOLLIN};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void begin(struct rb_tls_relay *r, int client)
{
    const int server = r->n_pairs < MAX_PAIRS ? connect_to(r->to_port) : -1;
    SSL *ssl = server >= 0 ? SSL_new(r->context) : NULL;
    if (!ssl || SSL_set_fd(ssl, client) != 1) {
        SSL_free(ssl);
        close(client);
        if (server >= 0)
            close(server);
        return;
    }
    struct pair *p = rb_xcalloc(1, sizeof *p);
    p->relay = r;
    p->ssl = ssl;
    p->next = r->first;
    r->first = p;
    r->n_pairs++;
    add(r, &p->client, p, client);
    add(r, &p->server, p, server);
    go_on(p);
}

void rb_tls_relay_run(struct rb_tls_relay *r)
{
    struct epoll_event events[MAX_EVENTS];
    const int n = epoll_wait(r->epoll, events, MAX_EVENTS, 0);
    for (int k = 0; k < n; k++) {
        struct side *s = events[k].data.ptr;
        if (s) {
            go_on(s->pair);
            continue;
        }
        const int fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            begin(r, fd);
    }
    sweep(r);
}

// --- the relay ---

static bool take_certificate(SSL_CTX *context, const struct rb_mock_certificate *c)
{
    BIO *text = BIO_new_mem_buf(c->certificate, -1), *secret = BIO_new_mem_buf(c->key, -1);
    X509 *certificate = text ? PEM_read_bio_X509(text, NULL, NULL, NULL) : NULL;
    EVP_PKEY *key = secret ? PEM_read_bio_PrivateKey(secret, NULL, NULL, NULL) : NULL;
    const bool ok = certificate && key && SSL_CTX_use_certificate(context, certificate) == 1 &&
                    SSL_CTX_use_PrivateKey(context, key) == 1;
    X509_free(certificate);
    EVP_PKEY_free(key);
    BIO_free(text);
    BIO_free(secret);
    return ok;
}

static bool listen_at(struct rb_tls_relay *r)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    struct epoll_event event = {.events = EPOLLIN};
    r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (r->listener < 0 || r->epoll < 0 || bind(r->listener, (const struct sockaddr *)&at, sizeof at) != 0 ||
        listen(r->listener, SOMAXCONN) != 0 || getsockname(r->listener, (struct sockaddr *)&at, &n) != 0)
        return false;
    r->port = ntohs(at.sin_port);
    return epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->listener, &event) == 0;
}

bool rb_tls_relay_create(const struct rb_mock_certificate *certificate, int to_port, struct rb_tls_relay **out,
                         struct rb_err *err)
{
    struct rb_tls_relay *r = rb_xcalloc(1, sizeof *r);
    *r = (struct rb_tls_relay){
        .to_port = to_port, .listener = -1, .epoll = -1, .context = SSL_CTX_new(TLS_server_method())};
    if (!r->context || !take_certificate(r->context, certificate)) {
        rb_tls_relay_destroy(r);
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "OpenSSL does not take the certificate of this rbmock");
    }
    SSL_CTX_set_options(r->context, SSL_OP_IGNORE_UNEXPECTED_EOF); // clients that end without saying so are clients
    SSL_CTX_set_mode(r->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (!listen_at(r)) {
        const int why = errno;
        rb_tls_relay_destroy(r);
        return rb_err_set(err, RB_E_MOCK_SOCKET, "cannot listen on 127.0.0.1 for TLS: %s", strerror(why));
    }
    *out = r;
    return true;
}

void rb_tls_relay_destroy(struct rb_tls_relay *r)
{
    if (!r)
        return;
    for (struct pair *p = r->first; p; p = p->next)
        p->is_broken = true;
    sweep(r);
    SSL_CTX_free(r->context);
    if (r->listener >= 0)
        close(r->listener);
    if (r->epoll >= 0)
        close(r->epoll);
    free(r);
}

int rb_tls_relay_port(const struct rb_tls_relay *r)
{
    return r->port;
}

int rb_tls_relay_fd(const struct rb_tls_relay *r)
{
    return r->epoll;
}
