// The life of a call, apart from any cloud: how long it pauses, when it gives up, and what it may use up.
#include "providers/wire/api_call.h"
#include "providers/wire/http.h"
#include "script_server.h"
#include "test_loop.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

struct reply {
    bool done;
    int n_calls;
    int number;
};

struct world {
    struct test_loop loop;
    struct rb_http *http;
    struct script_server *server;
    struct rb_api *api;
};

// The body says what to do, so that scripts can.
static enum rb_api_reaction judge(long status, const char *body, size_t n, struct rb_err *err)
{
    (void)n;
    rb_err_set(err, status >= 500 ? RB_ERR_UNKNOWN_OUTCOME : RB_ERR_THROTTLED, "status %ld", status);
    return strcmp(body, "minute") == 0 ? RB_API_NEXT_MINUTE
           : strcmp(body, "slow") == 0 ? RB_API_SLOW_DOWN
           : strcmp(body, "no") == 0   ? RB_API_FAIL
           : strcmp(body, "who") == 0  ? RB_API_PERHAPS_STARTING
                                       : RB_API_RETRY;
}

static bool decode(void *arg, const char *body, size_t n, struct rb_err *err)
{
    (void)arg, (void)body, (void)n, (void)err;
    return true;
}

static void done(void *arg, const struct rb_err *err)
{
    struct reply *t = arg;
    t->done = true;
    t->n_calls++;
    t->number = err ? rb_err_number(err) : RB_E_NONE;
}

static void drop(void *arg)
{
    (void)arg;
}

static void begin(struct world *w, const struct step *steps, int n)
{
    test_loop_init(&w->loop);
    w->server = script_server_start(steps, n);
    assert_true(rb_http_create(&w->loop.loop, &w->http, NULL));
    const struct rb_api_config config = {
        .loop = &w->loop.loop, .http = w->http, .endpoint = script_server_url(w->server), .judge = judge};
    w->api = rb_api_create(&config);
}

static void finish(struct world *w)
{
    rb_api_destroy(w->api);
    rb_http_destroy(w->http);
    script_server_stop(w->server);
    assert_int_equal(w->loop.n_timers, 0);
}

static struct reply call(struct world *w, int max_tries)
{
    struct reply reply = {0};
    struct rb_api_call c = {.name = "test",
                            .method = "GET",
                            .max_tries = max_tries,
                            .arg = &reply,
                            .decode = decode,
                            .done = done,
                            .drop = drop};
    rb_buf_puts(&c.target, "/x");
    rb_api_send(w->api, &c);
    assert_true(test_loop_run(&w->loop, &reply.done));
    assert_int_equal(reply.n_calls, 1);
    return reply;
}

static void a_budget_per_minute_is_waited_for(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.status = 403, .body = "minute"}, {.status = 200}};
    begin(&w, steps, 2);
    w.loop.skipped_us += 20000000; // the loop begins at a full minute
    assert_int_equal(call(&w, 5).number, RB_E_NONE);
    const int64_t elapsed_us = test_loop_elapsed_us(&w.loop);
    assert_in_range(elapsed_us, 60000000, 63000000); // the minute's turn and up to 2 s, and what the test itself takes
    finish(&w);
}

static void what_the_peer_asks_for_wins(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.status = 403, .headers = "Retry-After: 5\r\n", .body = "minute"},
                                 {.status = 503, .headers = "Retry-After: 9999\r\n", .body = "slow"},
                                 {.status = 200}};
    begin(&w, steps, 3);
    assert_int_equal(call(&w, 5).number, RB_E_NONE);
    assert_in_range(test_loop_elapsed_us(&w.loop), 65000000, 72000000); // 5 s, then a minute at most, and jitter
    finish(&w);
}

static void a_definite_refusal_is_not_repeated(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.status = 403, .body = "no"}};
    begin(&w, steps, 1);
    assert_int_equal(call(&w, 5).number, RB_E_ANY_THROTTLED);
    assert_int_equal(script_server_n_requests(w.server), 1);
    finish(&w);
}

static void who_has_been_let_in_waits_for_a_service_that_starts(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.status = 403, .body = "who"}, {.status = 200}, {.status = 403, .body = "who"},
                                 {.status = 403, .body = "who"}, {.status = 403, .body = "who"}, {.status = 200}};
    begin(&w, steps, N_OF(steps));
    assert_int_equal(call(&w, 5).number, RB_E_ANY_THROTTLED); // never let in: it stands
    assert_int_equal(script_server_n_requests(w.server), 1);
    assert_int_equal(call(&w, 1).number, RB_E_NONE);
    assert_int_equal(call(&w, 1).number, RB_E_NONE); // forbidden three times, which are no tries
    assert_int_equal(script_server_n_requests(w.server), 6);
    finish(&w);
}

static void a_refusal_stands_after_ten_seconds(void **state)
{
    (void)state;
    struct world w;
    static struct step steps[100];
    steps[0].status = 200;
    for (int i = 1; i < 100; i++)
        steps[i] = (struct step){.status = 403, .body = "who"};
    begin(&w, steps, N_OF(steps));
    assert_int_equal(call(&w, 1).number, RB_E_NONE);
    assert_int_equal(call(&w, 1).number, RB_E_ANY_THROTTLED);
    assert_in_range(test_loop_elapsed_us(&w.loop), 10000000, 16000000);
    finish(&w);
}

// 500 tokens: 50 retries without an answer at 10 each, then every call has one try. What works fills it up again.
static void retries_are_used_up_by_a_peer_that_is_down(void **state)
{
    (void)state;
    struct world w;
    static struct step steps[64];
    for (int i = 0; i < 60; i++)
        steps[i].how = RESET;
    for (int i = 60; i < 64; i++)
        steps[i].status = 200;
    begin(&w, steps, 64);
    assert_int_equal(call(&w, 1000).number, RB_E_UNREACHABLE);
    assert_int_equal(script_server_n_requests(w.server), 51);
    for (int i = 52; i <= 60; i++) {
        assert_int_equal(call(&w, 5).number, RB_E_UNREACHABLE);
        assert_int_equal(script_server_n_requests(w.server), i);
    }
    assert_int_equal(call(&w, 5).number, RB_E_NONE);
    finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_per_minute_is_waited_for),
        cmocka_unit_test(what_the_peer_asks_for_wins),
        cmocka_unit_test(a_definite_refusal_is_not_repeated),
        cmocka_unit_test(who_has_been_let_in_waits_for_a_service_that_starts),
        cmocka_unit_test(a_refusal_stands_after_ten_seconds),
        cmocka_unit_test(retries_are_used_up_by_a_peer_that_is_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
