#include "script_server.h"

#include "base/arena.h"
#include "base/text/buf.h"

#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_REQUESTS = 64 };

struct script_server {
    const struct step *steps;
    int n_steps, fd;
    char url[64];
    pthread_t thread;
    pthread_mutex_t lock; // of what follows
    pthread_cond_t came;
    struct rb_buf requests[MAX_REQUESTS];
    int n_requests;
};

static bool is_whole(const struct rb_buf *request)
{
    const char *end = strstr(rb_buf_str(request), "\r\n\r\n");
    if (!end)
        return false;
    const char *length = strcasestr(request->data, "Content-Length:");
    const size_t body = length && length < end ? strtoul(length + 15, NULL, 10) : 0;
    return request->len >= (size_t)(end + 4 - request->data) + body;
}

static void read_request(int fd, struct rb_buf *request)
{
    char chunk[4096];
    ssize_t n = 1;
    while (n > 0 && !is_whole(request)) {
        n = read(fd, chunk, sizeof chunk);
        if (n > 0)
            rb_buf_append(request, chunk, (size_t)n);
    }
}

// False: the client has gone.
static bool send_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

static void drip(int fd, const struct rb_buf *answer)
{
    for (size_t i = 0; i < answer->len; i++) {
        if (!send_all(fd, answer->data + i, 1))
            return;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 50) > 0)
            return; // readable without a new request: closed
    }
}

static void flood(int fd)
{
    char chunk[65536];
    memset(chunk, 'x', sizeof chunk);
    const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    if (!send_all(fd, head, sizeof head - 1))
        return;
    while (send_all(fd, chunk, sizeof chunk)) {
    }
}

static void play(int fd, const struct step *step)
{
    const char *body = step->body ? step->body : "";
    struct rb_buf answer = RB_BUF_INIT;
    rb_buf_printf(&answer, "HTTP/1.1 %d Status\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n%s", step->status,
                  strlen(body) + (step->how == BREAK_OFF), step->headers ? step->headers : "", body);
    if (step->how == DRIP) {
        drip(fd, &answer);
    } else if (step->how == FLOOD) {
        flood(fd);
    } else if (step->how == RESET) {
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    } else {
        send_all(fd, answer.data, answer.len);
    }
    rb_buf_finish(&answer);
}

static void serve(struct script_server *s, int fd)
{
    struct rb_buf request = RB_BUF_INIT;
    if (s->n_requests < s->n_steps)
        read_request(fd, &request);
    pthread_mutex_lock(&s->lock);
    assert(s->n_requests < MAX_REQUESTS);
    const int i = s->n_requests++;
    s->requests[i] = request;
    pthread_cond_signal(&s->came);
    pthread_mutex_unlock(&s->lock);
    if (i < s->n_steps)
        play(fd, &s->steps[i]);
    close(fd);
}

static void *run(void *arg)
{
    struct script_server *s = arg;
    for (int fd; (fd = accept(s->fd, NULL, NULL)) >= 0;)
        serve(s, fd);
    return NULL;
}

struct script_server *script_server_start(const struct step *steps, int n_steps)
{
    struct script_server *s = rb_xcalloc(1, sizeof *s);
    s->steps = steps;
    s->n_steps = n_steps;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(s->fd, (struct sockaddr *)&address, size) != 0 || listen(s->fd, MAX_REQUESTS) != 0 ||
        getsockname(s->fd, (struct sockaddr *)&address, &size) != 0)
        abort();
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->came, NULL);
    pthread_create(&s->thread, NULL, run, s);
    return s;
}

void script_server_stop(struct script_server *s)
{
    shutdown(s->fd, SHUT_RDWR); // accept returns
    pthread_join(s->thread, NULL);
    close(s->fd);
    for (int i = 0; i < s->n_requests; i++)
        rb_buf_finish(&s->requests[i]);
    pthread_cond_destroy(&s->came);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

const char *script_server_url(const struct script_server *s)
{
    return s->url;
}

int script_server_n_requests(struct script_server *s)
{
    pthread_mutex_lock(&s->lock);
    const int n = s->n_requests;
    pthread_mutex_unlock(&s->lock);
    return n;
}

const char *script_server_request(struct script_server *s, int i)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_mutex_lock(&s->lock);
    while (i >= s->n_requests)
        if (pthread_cond_timedwait(&s->came, &s->lock, &until) != 0)
            abort(); // it never came
    const char *text = rb_buf_str(&s->requests[i]);
    pthread_mutex_unlock(&s->lock);
    return text;
}
