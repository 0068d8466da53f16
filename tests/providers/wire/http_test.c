// The HTTP client against a server that answers and misbehaves by script, and what it refuses to talk to at all.
#include "base/arena.h"
#include "base/limits.h"
#include "providers/wire/http.h"
#include "script_server.h"
#include "test_loop.h"
#include "tests/base/check.h"

#include <stdlib.h>
#include <string.h>

struct result {
    bool done;
    int n_calls;
    long status;
    bool sent;
    size_t body_len;
    char body[64], retry_after[64], date[64], reason[256];
};

struct world {
    struct test_loop loop;
    struct rb_http *http;
    struct script_server *server;
    struct result result;
};

static void keep(char *out, size_t size, const char *text)
{
    strncpy(out, text ? text : "", size - 1);
}

static void on_response(void *arg, const struct rb_http_response *r)
{
    struct result *result = arg;
    *result = (struct result){
        .done = true, .n_calls = result->n_calls + 1, .status = r->status, .sent = r->sent, .body_len = r->body_len};
    keep(result->body, sizeof result->body, r->body);
    keep(result->retry_after, sizeof result->retry_after, r->retry_after);
    keep(result->date, sizeof result->date, r->date);
    keep(result->reason, sizeof result->reason, r->transport_error);
}

static void begin(struct world *w, const struct step *steps, int n)
{
    memset(w, 0, sizeof *w);
    test_loop_init(&w->loop);
    assert_true(rb_http_create(&w->loop.loop, &w->http, NULL));
    w->server = script_server_start(steps, n);
}

static void end(struct world *w)
{
    rb_http_destroy(w->http);
    script_server_stop(w->server);
    assert_int_equal(w->loop.n_timers, 0);
    assert_int_equal(w->loop.n_watches, 0);
}

static void post(struct world *w, const char *url, const char *body, int64_t timeout_us)
{
    static const char *const headers[] = {"X-Test: yes"};
    const struct rb_http_request request = {.method = "POST",
                                            .url = url,
                                            .headers = headers,
                                            .n_headers = 1,
                                            .body = body,
                                            .body_len = strlen(body),
                                            .timeout_us = timeout_us};
    struct rb_err err;
    if (!rb_http_send(w->http, &request, on_response, &w->result, &err))
        fail_msg("%s", err.message);
    assert_false(w->result.done); // never from inside the call
}

static void play(struct world *w, const struct step *step, int64_t timeout_us)
{
    begin(w, step, 1);
    post(w, script_server_url(w->server), "a=b", timeout_us);
    assert_true(test_loop_run(&w->loop, &w->result.done));
}

static void answers_come_whole(void **state)
{
    (void)state;
    struct world w;
    const struct step step = {
        .status = 503, .headers = "retry-AFTER:  7 \r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n", .body = "hello"};
    play(&w, &step, 0);
    assert_int_equal(w.result.status, 503);
    assert_string_equal(w.result.body, "hello");
    assert_string_equal(w.result.retry_after, "7");
    assert_string_equal(w.result.date, "Thu, 01 Jan 2026 00:00:00 GMT");
    assert_string_equal(w.result.reason, "");
    assert_true(w.result.sent);
    const char *request = script_server_request(w.server, 0);
    assert_ptr_equal(strstr(request, "POST / HTTP/1.1\r\n"), request);
    assert_non_null(strstr(request, "X-Test: yes\r\n"));
    assert_non_null(strstr(request, "\r\n\r\na=b"));
    assert_null(strstr(request, "Expect"));
    end(&w);
}

struct listener {
    struct result result; // first: the answer's
    char heard[64];
    size_t n;
};

static void listen_on(void *arg, const char *bytes, size_t n)
{
    struct listener *l = arg;
    assert_true(l->n + n < sizeof l->heard);
    memcpy(l->heard + l->n, bytes, n);
    l->n += n;
}

// The body of an answer without end is heard as it comes, and not kept.
static void a_body_can_be_listened_to(void **state)
{
    (void)state;
    struct world w;
    struct listener l = {0};
    struct rb_err err;
    const struct step step = {.status = 200, .body = "one\ntwo\n"};
    begin(&w, &step, 1);
    const struct rb_http_request request = {.method = "GET", .url = script_server_url(w.server), .heard = listen_on};
    assert_true(rb_http_send(w.http, &request, on_response, &l, &err));
    assert_true(test_loop_run(&w.loop, &l.result.done));
    assert_int_equal(l.result.status, 200);
    assert_string_equal(l.result.body, "");
    assert_string_equal(l.heard, "one\ntwo\n");
    end(&w);
}

static void redirects_are_answers(void **state)
{
    (void)state;
    struct world w;
    const struct step step = {.status = 302, .headers = "Location: http://127.0.0.1:1/\r\n"};
    play(&w, &step, 0);
    assert_int_equal(w.result.status, 302);
    end(&w);
}

static void broken_answers_are_none(void **state)
{
    (void)state;
    static const struct {
        struct step step;
        const char *reason;
    } cases[] = {
        {{.how = RESET}, "reset"},
        {{.how = BREAK_OFF, .status = 200, .body = "<half>"}, "bytes"},
        {{.how = DRIP, .status = 200, .body = "slow"}, "timed out"},
        {{.how = FLOOD}, "RB_LIMIT_HTTP_BYTES"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct world w;
        play(&w, &cases[i].step, cases[i].step.how == DRIP ? 300000 : 0);
        assert_int_equal(w.result.status, 0);
        assert_int_equal(w.result.body_len, 0);
        assert_true(w.result.sent);
        if (!strstr(w.result.reason, cases[i].reason))
            fail_msg("case %zu: \"%s\"", i, w.result.reason);
        end(&w);
    }
}

// 50 ms a byte: it would take longer than the timeout, and all of that would be waited for.
static void a_body_that_drips_is_not_waited_for(void **state)
{
    (void)state;
    struct world w;
    char body[201] = "";
    memset(body, 'x', sizeof body - 1);
    const struct step step = {.how = DRIP, .status = 200, .body = body};
    play(&w, &step, 9 * INT64_C(1000000));
    assert_int_equal(w.result.status, 0);
    assert_true(w.result.sent);
    assert_non_null(strstr(w.result.reason, "too slowly"));
    end(&w);
}

static void refused_connection_sent_nothing(void **state)
{
    (void)state;
    struct world w;
    begin(&w, NULL, 0);
    struct script_server *gone = script_server_start(NULL, 0);
    char url[64];
    keep(url, sizeof url, script_server_url(gone));
    url[sizeof url - 1] = '\0';
    script_server_stop(gone);
    post(&w, url, "a=b", 0);
    assert_true(test_loop_run(&w.loop, &w.result.done));
    assert_int_equal(w.result.status, 0);
    assert_false(w.result.sent);
    assert_string_not_equal(w.result.reason, "");
    end(&w);
}

// TLS spoken to a peer that has none: the handshake fails before any of the request is out.
static void tls_is_not_optional(void **state)
{
    (void)state;
    struct world w;
    const struct step step = {.status = 200};
    begin(&w, &step, 1);
    char url[64] = "https";
    strncat(url, script_server_url(w.server) + 4, sizeof url - 6);
    post(&w, url, "secret", 200000);
    assert_true(test_loop_run(&w.loop, &w.result.done));
    assert_int_equal(w.result.status, 0);
    assert_false(w.result.sent);
    assert_null(strstr(script_server_request(w.server, 0), "secret"));
    end(&w);
}

static void proxies_are_for_others(void **state)
{
    (void)state;
    struct world w;
    const struct step step = {.status = 200, .body = "direct"};
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    play(&w, &step, 0);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
    assert_string_equal(w.result.body, "direct");
    end(&w);
}

static void unsafe_requests_are_refused(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "http://example.com/",
        "http://169.254.169.254/",
        "http://127.0.0.1@example.com/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "http://localhost.example.com/",
        "http://[::2]/",
        "http://128.0.0.1/",
        "https://user:pw@example.com/",
        "not a url",
        "",
        "http://0.0.0.0/",
    };
    struct world w;
    begin(&w, NULL, 0);
    for (size_t i = 0; i < N_OF(urls); i++) {
        const struct rb_http_request request = {.method = "GET", .url = urls[i]};
        struct rb_err err = {0};
        if (rb_http_send(w.http, &request, on_response, &w.result, &err))
            fail_msg("%s was not refused", urls[i]);
        assert_int_equal(err.code, RB_ERR_INVALID);
    }
    const char *const injected[] = {"X-A: b\r\nX-C: d"};
    const struct rb_http_request request = {
        .method = "GET", .url = script_server_url(w.server), .headers = injected, .n_headers = 1};
    assert_false(rb_http_send(w.http, &request, on_response, &w.result, NULL));
    end(&w);
}

static void loopback_is_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool loopback;
    } cases[] = {
        {"http://127.0.0.1:4566", true}, {"https://127.8.9.1", true},    {"http://localhost:80/", true},
        {"http://[::1]:1/", true},       {"http://127.1", true},         {"http://localhost.", false},
        {"http://10.0.0.1", false},      {"https://example.com", false}, {"https://127.0.0.1.nip.io", false},
        {"ftp://127.0.0.1", false},      {"127.0.0.1", false},
    };
    for (size_t i = 0; i < N_OF(cases); i++)
        if (rb_http_is_loopback(cases[i].url) != cases[i].loopback)
            fail_msg("%s", cases[i].url);
}

static void set_flag(void *flag)
{
    *(bool *)flag = true;
}

static void run_for(struct world *w, int64_t us)
{
    bool over = false;
    w->loop.loop.timer_start(&w->loop, us, set_flag, &over);
    assert_true(test_loop_run(&w->loop, &over));
}

static void cancelled_requests_stay_silent(void **state)
{
    (void)state;
    struct world w;
    const struct step steps[] = {{.how = DRIP, .status = 200, .body = "one"}, {.status = 200, .body = "two"}};
    begin(&w, steps, 2);
    struct result other = {0};
    const struct rb_http_request request = {.method = "GET", .url = script_server_url(w.server)};
    assert_true(rb_http_send(w.http, &request, on_response, &other, NULL));
    run_for(&w, 100000); // some way into the answer
    rb_http_cancel(w.http, &other);
    post(&w, script_server_url(w.server), "x", 0);
    rb_http_cancel(w.http, &other); // nothing left: nothing happens
    assert_false(test_loop_run(&w.loop, &other.done) && other.n_calls > 0);
    assert_int_equal(w.result.n_calls, 1);
    assert_int_equal(other.n_calls, 0);
    end(&w);
}

static void destroying_ends_pending_requests(void **state)
{
    (void)state;
    struct world w;
    const struct step step = {.how = DRIP, .status = 200};
    begin(&w, &step, 1);
    post(&w, script_server_url(w.server), "x", 0);
    run_for(&w, 100000);
    assert_true(w.loop.n_watches > 0);
    end(&w);
    assert_int_equal(w.result.n_calls, 0);
}

static void many_requests_share_the_client(void **state)
{
    (void)state;
    struct world w;
    struct step steps[40];
    struct result results[40] = {0};
    for (int i = 0; i < 40; i++)
        steps[i] = (struct step){.status = 200, .body = "ok"};
    begin(&w, steps, 40);
    const struct rb_http_request request = {.method = "GET", .url = script_server_url(w.server)};
    for (int i = 0; i < 40; i++)
        assert_true(rb_http_send(w.http, &request, on_response, &results[i], NULL));
    for (int i = 0; i < 40; i++) {
        assert_true(test_loop_run(&w.loop, &results[i].done));
        assert_int_equal(results[i].status, 200);
        assert_int_equal(results[i].n_calls, 1);
    }
    end(&w);
}

static void retry_after_is_seconds_or_a_date(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {
        {"0", 0},
        {"120", 120000000},
        {"Thu, 01 Jan 2026 00:00:10 GMT", 10000000},
        {"Wed, 31 Dec 2025 23:59:59 GMT", 0},
        {"soon", -1},
        {"-5", -1},
        {"1.5", -1},
        {"", -1},
        {"99999999999999999999", -1},
        {NULL, -1},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        const struct rb_http_response r = {.retry_after = cases[i].text};
        assert_int_equal(rb_http_retry_after_us(&r, TEST_LOOP_START_UNIX_US), cases[i].us);
    }
    const struct rb_http_response dated = {.date = "Thu, 01 Jan 2026 00:00:00 GMT"};
    assert_int_equal(rb_http_date_us(&dated), TEST_LOOP_START_UNIX_US);
    assert_int_equal(rb_http_date_us(&(struct rb_http_response){.date = "nonsense"}), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_whole),
        cmocka_unit_test(a_body_can_be_listened_to),
        cmocka_unit_test(redirects_are_answers),
        cmocka_unit_test(broken_answers_are_none),
        cmocka_unit_test(a_body_that_drips_is_not_waited_for),
        cmocka_unit_test(refused_connection_sent_nothing),
        cmocka_unit_test(tls_is_not_optional),
        cmocka_unit_test(proxies_are_for_others),
        cmocka_unit_test(unsafe_requests_are_refused),
        cmocka_unit_test(loopback_is_recognised),
        cmocka_unit_test(cancelled_requests_stay_silent),
        cmocka_unit_test(destroying_ends_pending_requests),
        cmocka_unit_test(many_requests_share_the_client),
        cmocka_unit_test(retry_after_is_seconds_or_a_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
