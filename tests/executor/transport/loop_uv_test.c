// The real loop: timers, watches, and the HTTP client on it.
#include "base/clock.h"
#include "base/silence.h"
#include "executor/transport/loop_uv.h"
#include "providers/wire/http.h"
#include "tests/base/check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct world {
    struct rb_loop_uv *uv;
    const struct rb_loop *loop;
    int n_fired, order[8];
    int ready, n_ready;
    int64_t fired_us;
};

static void begin(struct world *w)
{
    *w = (struct world){.uv = rb_loop_uv_create()};
    w->loop = rb_loop_uv_loop(w->uv);
}

struct shot {
    struct world *w;
    int number;
};

static void on_timer(void *arg)
{
    struct shot *shot = arg;
    shot->w->order[shot->w->n_fired++] = shot->number;
    shot->w->fired_us = rb_clock_monotonic_us();
}

static void timers_fire_in_order_and_not_early(void **state)
{
    (void)state;
    struct world w;
    begin(&w);
    struct shot shots[] = {{&w, 0}, {&w, 1}, {&w, 2}};
    const int64_t start_us = w.loop->now_us(w.loop->ctx);
    w.loop->timer_start(w.loop->ctx, 20500, on_timer, &shots[2]);
    const uint64_t cancelled = w.loop->timer_start(w.loop->ctx, 5000, on_timer, &shots[1]);
    assert_int_not_equal(w.loop->timer_start(w.loop->ctx, 0, on_timer, &shots[0]), 0);
    w.loop->timer_cancel(w.loop->ctx, cancelled);
    w.loop->timer_cancel(w.loop->ctx, cancelled); // and once more: nothing happens
    assert_int_equal(w.n_fired, 0);               // never from inside the call
    rb_loop_uv_run(w.uv);                         // returns when nothing is left to wait for
    assert_int_equal(w.n_fired, 2);
    assert_int_equal(w.order[0], 0);
    assert_int_equal(w.order[1], 2);
    assert_true(w.fired_us - start_us >= 20500);
    rb_loop_uv_destroy(w.uv);
}

static void on_ready(void *arg, int fd, int ready)
{
    struct world *w = arg;
    char byte;
    w->ready |= ready;
    w->n_ready++;
    if (read(fd, &byte, 1) <= 0)
        w->loop->watch(w->loop->ctx, fd, 0, NULL, NULL);
}

static void descriptors_are_watched_until_they_are_dropped(void **state)
{
    (void)state;
    struct world w;
    int ends[2];
    begin(&w);
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    w.loop->watch(w.loop->ctx, ends[0], RB_LOOP_READ, on_ready, &w);
    assert_int_equal(write(ends[1], "ab", 2), 2);
    close(ends[1]);
    rb_loop_uv_run(w.uv);
    assert_int_equal(w.ready, RB_LOOP_READ);
    assert_int_equal(w.n_ready, 3); // a, b, end of file
    close(ends[0]);
    rb_loop_uv_destroy(w.uv);
}

static void ignore_once(void *arg, int fd, int ready)
{
    struct world *w = arg;
    (void)ready;
    if (++w->n_ready == 2)
        w->loop->watch(w->loop->ctx, fd, 0, NULL, NULL);
}

// An error condition keeps being reported until the watch is removed, like anything else that is ready.
static void errors_do_not_end_a_watch(void **state)
{
    (void)state;
    struct world w;
    int ends[2];
    begin(&w);
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    close(ends[0]); // writing is an error now
    w.loop->watch(w.loop->ctx, ends[1], RB_LOOP_WRITE, ignore_once, &w);
    rb_loop_uv_run(w.uv);
    assert_int_equal(w.n_ready, 2);
    close(ends[1]);
    rb_loop_uv_destroy(w.uv);
}

struct answer {
    struct world *w;
    int n_calls;
    long status;
    bool sent;
};

static void on_response(void *arg, const struct rb_http_response *r)
{
    struct answer *a = arg;
    a->n_calls++;
    a->status = r->status;
    a->sent = r->sent;
    rb_loop_uv_stop(a->w->uv);
}

// A port that no one listens on, and then the same client again: connections fail, the loop does not.
static void http_runs_on_it(void **state)
{
    (void)state;
    struct world w;
    struct rb_http *http;
    char url[64];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    begin(&w);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); // bound but not listening: refused
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    assert_true(rb_http_create(w.loop, &http, NULL));
    for (int i = 1; i <= 2; i++) {
        struct answer a = {.w = &w};
        const struct rb_http_request request = {.method = "GET", .url = url};
        assert_true(rb_http_send(http, &request, on_response, &a, NULL));
        rb_loop_uv_run(w.uv);
        assert_int_equal(a.n_calls, 1);
        assert_int_equal(a.status, 0);
        assert_false(a.sent);
    }
    rb_http_destroy(http);
    close(fd);
    rb_loop_uv_destroy(w.uv);
}

static void on_interrupt(void *arg)
{
    struct world *w = arg;
    w->n_fired++;
}

static void raise_three(void *arg)
{
    struct world *w = arg;
    w->n_ready++;
    raise(SIGHUP);
    raise(SIGTERM);
    raise(SIGINT);
}

// A closed terminal sends one from the kernel and one from the shell; `timeout` signals its child, and its group with the child in it.
static void signals_that_come_together_are_one(void **state)
{
    (void)state;
    struct world w;
    begin(&w);
    rb_loop_uv_on_interrupt(w.uv, on_interrupt, &w);
    w.loop->timer_start(w.loop->ctx, 0, raise_three, &w);
    w.loop->timer_start(w.loop->ctx, 20000, raise_three, &w);
    w.loop->timer_start(w.loop->ctx, 100000, on_timer, &(struct shot){&w, 0});
    rb_loop_uv_run(w.uv);
    assert_int_equal(w.n_ready, 2);
    assert_int_equal(w.n_fired, 2);                            // an interruption and the timer
    w.loop->timer_start(w.loop->ctx, 600000, raise_three, &w); // somebody insists
    w.loop->timer_start(w.loop->ctx, 700000, on_timer, &(struct shot){&w, 1});
    rb_loop_uv_run(w.uv);
    assert_int_equal(w.n_fired, 4);
    rb_loop_uv_destroy(w.uv);
}

// --- gaps: the clock jumps, as it does over a suspend, while libuv's stands still

static int64_t jumped_us;

static int64_t jumping_clock_us(void)
{
    return rb_clock_monotonic_us() + jumped_us;
}

static void jump(void *arg)
{
    (void)arg;
    jumped_us += INT64_C(3600000000);
}

static void begin_jumping(struct world *w)
{
    begin(w);
    jumped_us = 0;
    rb_loop_uv_set_clock(w->uv, jumping_clock_us);
}

static void a_timer_that_was_due_in_a_gap_fires_after_it(void **state)
{
    (void)state;
    struct world w;
    begin_jumping(&w);
    const int64_t start_us = rb_clock_monotonic_us();
    w.loop->timer_start(w.loop->ctx, 1000, jump, NULL);
    w.loop->timer_start(w.loop->ctx, INT64_C(1800000000), on_timer, &(struct shot){&w, 0});
    rb_loop_uv_run(w.uv);
    assert_int_equal(w.n_fired, 1);
    assert_true(rb_clock_monotonic_us() - start_us < INT64_C(60000000)); // not half an hour later
    int64_t gap_us, back_us = w.loop->back_us(w.loop->ctx, &gap_us);
    assert_true(gap_us >= INT64_C(3600000000) && back_us > INT64_MIN);
    assert_true(w.loop->now_us(w.loop->ctx) - w.loop->attended_us(w.loop->ctx) >= INT64_C(3600000000));
    rb_loop_uv_destroy(w.uv);
}

static void tell_silence(void *arg)
{
    struct world *w = arg;
    w->n_fired++;
}

// Ten minutes of patience, an hour's gap: it is counted from the end of the gap, and what is heard counts.
static void a_silence_does_not_count_a_gap(void **state)
{
    (void)state;
    struct world w;
    struct rb_silence silence = {0}, brief = {0};
    begin_jumping(&w);
    rb_silence_begin(&silence, w.loop, INT64_C(600000000), tell_silence, &w);
    w.loop->timer_start(w.loop->ctx, 1000, jump, NULL);
    w.loop->timer_start(w.loop->ctx, 900000, on_timer, &(struct shot){&w, 0});
    while (w.n_fired == 0)
        uv_run(rb_loop_uv_handle(w.loop), UV_RUN_ONCE);
    assert_true(rb_silence_counts(&silence));
    assert_int_equal(w.n_fired, 1); // the shot
    rb_silence_end(&silence);
    rb_silence_begin(&brief, w.loop, 20000, tell_silence, &w);
    rb_loop_uv_run(w.uv);
    assert_int_equal(w.n_fired, 2);
    assert_false(rb_silence_counts(&brief));
    rb_loop_uv_destroy(w.uv);
}

struct late_server {
    struct answer answer;
    int listening, connection;
};

static void reply(void *arg)
{
    struct late_server *s = arg;
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    assert_int_equal(write(s->connection, text, sizeof text - 1), (ssize_t)sizeof text - 1);
}

static void on_connection(void *arg, int fd, int ready)
{
    struct late_server *s = arg;
    const struct rb_loop *loop = s->answer.w->loop;
    (void)ready;
    s->connection = accept(fd, NULL, NULL);
    loop->watch(loop->ctx, fd, 0, NULL, NULL);
    loop->timer_start(loop->ctx, 50000, jump, NULL); // the request was sent; then the lid is closed
    loop->timer_start(loop->ctx, INT64_C(3600000000) + 100000, reply, s);
}

// A request that was answered while this process did not run has not timed out.
static void a_request_outlives_a_gap(void **state)
{
    (void)state;
    struct world w;
    struct rb_http *http;
    char url[64];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    begin_jumping(&w);
    struct late_server s = {
        .answer = {.w = &w}, .listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .connection = -1};
    assert_int_equal(bind(s.listening, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(s.listening, 1), 0);
    assert_int_equal(getsockname(s.listening, (struct sockaddr *)&address, &size), 0);
    w.loop->watch(w.loop->ctx, s.listening, RB_LOOP_READ, on_connection, &s);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    assert_true(rb_http_create(w.loop, &http, NULL));
    const struct rb_http_request request = {.method = "GET", .url = url};
    assert_true(rb_http_send(http, &request, on_response, &s.answer, NULL));
    rb_loop_uv_run(w.uv);
    assert_int_equal(s.answer.n_calls, 1);
    assert_int_equal(s.answer.status, 200);
    rb_http_destroy(http);
    close(s.connection);
    close(s.listening);
    rb_loop_uv_destroy(w.uv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_in_order_and_not_early),
        cmocka_unit_test(descriptors_are_watched_until_they_are_dropped),
        cmocka_unit_test(errors_do_not_end_a_watch),
        cmocka_unit_test(http_runs_on_it),
        cmocka_unit_test(signals_that_come_together_are_one),
        cmocka_unit_test(a_timer_that_was_due_in_a_gap_fires_after_it),
        cmocka_unit_test(a_silence_does_not_count_a_gap),
        cmocka_unit_test(a_request_outlives_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
