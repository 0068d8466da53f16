// The server of live pages over real sockets: what was given last counts as sent once somebody has all of it, and not before.
#include "views/live/live_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define TOKEN    "0123456789abcdef0123456789abcdef"
#define FIRST    64         // bytes
#define MANY     (64 << 20) // bytes: more than any socket buffers
#define PATIENCE 500        // times
#define A_LITTLE 10000000   // ns

struct shown {
    const char *letter;
    size_t n; // of them in the document
    bool given;
    atomic_int n_sent;
};

static bool refresh(void *ctx, int number, struct rb_buf *page, struct rb_buf *data)
{
    struct shown *s = ctx;
    assert_int_equal(number, 0);
    if (s->given)
        return false;
    rb_buf_puts(page, "a page");
    for (size_t i = 0; i < s->n; i += 1024)
        rb_buf_printf(data, "%1024s", s->letter);
    return s->given = true;
}

static void sent(void *ctx, int number)
{
    struct shown *s = ctx;
    (void)number;
    atomic_fetch_add(&s->n_sent, 1);
}

static struct rb_live_server *start(struct shown *shown, int *out_port)
{
    const struct rb_live_config config = {.token = TOKEN, .n_pages = 1, .refresh = refresh, .sent = sent, .ctx = shown};
    struct rb_live_server *server;
    struct rb_buf url = RB_BUF_INIT;
    struct rb_err err;
    if (!rb_live_server_start(&config, &server, &err))
        fail_msg("%s", err.message);
    rb_live_server_url(server, &url);
    assert_int_equal(sscanf(rb_buf_str(&url), "http://127.0.0.1:%d/", out_port), 1);
    rb_buf_finish(&url);
    return server;
}

static int ask(int port, const char *method, const char *file)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    char request[256];
    const int n = snprintf(request, sizeof request,
                           "%s /" TOKEN "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", method, file);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(write(fd, request, (size_t)n), n);
    return fd;
}

// Reads the beginning only: the rest waits.
static int begin_reading(int port)
{
    char first[FIRST];
    const int fd = ask(port, "GET", "/data.json");
    assert_true(read(fd, first, sizeof first) > 0);
    return fd;
}

static size_t read_all(int fd)
{
    static char bytes[1 << 16];
    size_t all = 0;
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;)
        all += (size_t)n;
    close(fd);
    return all;
}

static bool comes_to(struct shown *s, int n_sent)
{
    for (int i = 0; i < PATIENCE && atomic_load(&s->n_sent) < n_sent; i++)
        nanosleep(&(struct timespec){.tv_nsec = A_LITTLE}, NULL);
    return atomic_load(&s->n_sent) == n_sent;
}

static void sent_is_what_somebody_has_read(void **state)
{
    (void)state;
    struct shown shown = {.letter = "x", .n = MANY};
    int port;
    struct rb_live_server *server = start(&shown, &port);
    const int fd = begin_reading(port);
    for (int i = 0; i < 10; i++)
        nanosleep(&(struct timespec){.tv_nsec = A_LITTLE}, NULL);
    assert_int_equal(atomic_load(&shown.n_sent), 0);
    assert_true(read_all(fd) > MANY - FIRST);
    assert_true(comes_to(&shown, 1));
    rb_live_server_stop(server);
}

static void pages_count_and_heads_do_not(void **state)
{
    (void)state;
    struct shown shown = {.letter = "x", .n = 1024};
    int port;
    struct rb_live_server *server = start(&shown, &port);
    read_all(ask(port, "HEAD", "/data.json"));
    read_all(ask(port, "GET", "/nothing"));
    read_all(ask(port, "GET", "/"));
    assert_true(comes_to(&shown, 1));
    read_all(ask(port, "GET", "/data.json"));
    assert_true(comes_to(&shown, 2));
    rb_live_server_stop(server);
}

// Somebody who goes away in the middle has not got it.
static void what_is_cut_off_is_not_sent(void **state)
{
    (void)state;
    struct shown shown = {.letter = "x", .n = MANY};
    int port;
    struct rb_live_server *server = start(&shown, &port);
    const int fd = begin_reading(port);
    close(fd);
    read_all(ask(port, "GET", "/"));
    assert_true(comes_to(&shown, 1));
    rb_live_server_stop(server);
    assert_int_equal(atomic_load(&shown.n_sent), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sent_is_what_somebody_has_read),
        cmocka_unit_test(pages_count_and_heads_do_not),
        cmocka_unit_test(what_is_cut_off_is_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
