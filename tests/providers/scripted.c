#include "scripted.h"

#include "providers/wire/http.h"
#include "tests/base/check.h"

void scripted_begin(struct scripted *s, const struct step *steps, int n)
{
    memset(s, 0, sizeof *s);
    test_loop_init(&s->loop);
    s->server = script_server_start(steps, n);
    assert_true(rb_http_create(&s->loop.loop, &s->http, NULL));
}

void scripted_tell(struct scripted *s, const struct rb_err *err)
{
    s->done = true;
    s->n_calls++;
    s->err = err ? *err : (struct rb_err){0};
}

void scripted_wait(struct scripted *s)
{
    assert_false(s->done);
    assert_true(test_loop_run(&s->loop, &s->done));
    assert_int_equal(s->n_calls, 1);
}

void scripted_end(struct scripted *s)
{
    rb_http_destroy(s->http);
    script_server_stop(s->server);
    assert_int_equal(s->loop.n_timers, 0);
    assert_int_equal(s->loop.n_watches, 0);
}

void scripted_expect(struct scripted *s, int i, const char *text)
{
    const char *request = script_server_request(s->server, i);
    if (!strstr(request, text))
        fail_msg("request %d: expected %s in:\n%s", i, text, request);
}

void scripted_expect_begin(struct scripted *s, int i, const char *start)
{
    const char *request = script_server_request(s->server, i);
    if (strncmp(request, start, strlen(start)) != 0)
        fail_msg("request %d: expected %s, got %.200s", i, start, request);
}
