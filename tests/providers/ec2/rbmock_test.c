// The EC2 provider against the mock cloud, over real HTTP: two sides of the API that were written apart.
#include "base/arena.h"
#include "executor/transport/loop_uv.h"
#include "home.h"
#include "mock_process.h"
#include "providers/provider.h"
#include "providers/wire/http.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

struct world {
    pid_t mock;
    struct rb_loop_uv *uv;
    struct rb_http *http;
    struct rb_provider provider;
};

struct reply {
    struct world *w;
    enum rb_err_code code;
    char message[sizeof((struct rb_err *)0)->message];
    bool complete;
    int n;
    struct rb_instance instance;
    char id[64], address[64], token[65], run_id[64];
    struct rb_offer offer;
};

static void start_mock(struct world *w)
{
    static const char *const args[] = {"--ec2", "0", "--key", "test:test", NULL};
    char ready[256], url[128];
    w->mock = mock_process_start(args, ready);
    assert_int_equal(sscanf(ready, "ready ec2=%127s", url), 1);
    setenv("AWS_ENDPOINT_URL", url, 1);
}

static void create_provider(struct world *w)
{
    const struct rb_provider_ops *ops;
    char region[64];
    struct rb_err err;
    assert_true(rb_provider_find("mock/us-east-1", &ops, region, NULL));
    const struct rb_provider_config config = {
        .loop = rb_loop_uv_loop(w->uv), .http = w->http, .region = region, .loopback_only = true};
    if (!ops->create(&config, &w->provider, &err))
        fail_msg("%s", err.message);
}

static int begin(void **state)
{
    struct world *w = rb_xcalloc(1, sizeof *w);
    home_begin();
    setenv("AWS_ACCESS_KEY_ID", "test", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "test", 1);
    start_mock(w);
    w->uv = rb_loop_uv_create();
    assert_true(rb_http_create(rb_loop_uv_loop(w->uv), &w->http, NULL));
    create_provider(w);
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    w->provider.ops->destroy(&w->provider);
    rb_http_destroy(w->http);
    rb_loop_uv_destroy(w->uv);
    const bool clean = mock_process_stop(w->mock);
    home_end();
    free(w);
    return clean ? 0 : 1;
}

static void copy(char *out, size_t size, const char *text)
{
    const int n = snprintf(out, size, "%s", text ? text : "");
    assert_true(n >= 0 && (size_t)n < size);
}

static void keep(struct reply *t, const struct rb_instance *i)
{
    t->instance = *i; // its strings are gone after the callback, so they are copied
    copy(t->id, sizeof t->id, i->id);
    copy(t->address, sizeof t->address, i->address);
    copy(t->token, sizeof t->token, i->token);
    copy(t->run_id, sizeof t->run_id, i->run_id);
}

static void tell(struct reply *t, const struct rb_err *err)
{
    t->code = err ? err->code : RB_ERR_NONE;
    copy(t->message, sizeof t->message, err ? err->message : "");
    rb_loop_uv_stop(t->w->uv);
}

static void on_launch(void *arg, const struct rb_err *err, const struct rb_instance *i)
{
    tell(arg, err);
    if (i)
        keep(arg, i);
}

static void on_list(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct reply *t = arg;
    tell(t, err);
    t->n = n;
    t->complete = complete;
    if (n > 0)
        keep(t, &instances[0]);
}

static void on_terminate(void *arg, const struct rb_err *err)
{
    tell(arg, err);
}

static void on_offers(void *arg, const struct rb_err *err, const struct rb_catalog *catalog)
{
    struct reply *t = arg;
    tell(t, err);
    t->n = catalog ? catalog->n_offers : 0;
    if (t->n > 0)
        t->offer = catalog->offers[0];
}

static struct reply launch(struct world *w, const char *token, const char *type, enum rb_market market)
{
    const struct rb_launch l = {.token = token,
                                .region = "us-east-1",
                                .instance_type = type,
                                .market = market,
                                .user_data = "#!/bin/sh\ntrue\n",
                                .disk_gb = 50,
                                .tags = {.run_id = "r 1", .launch_id = "l-1", .owner = "ann"}};
    struct reply t = {.w = w};
    w->provider.ops->launch(&w->provider, &l, on_launch, &t);
    rb_loop_uv_run(w->uv);
    return t;
}

static struct reply list(struct world *w, const char *run_id)
{
    struct reply t = {.w = w};
    w->provider.ops->list(&w->provider, run_id, on_list, &t);
    rb_loop_uv_run(w->uv);
    assert_int_equal(t.code, RB_ERR_NONE);
    assert_true(t.complete);
    return t;
}

static struct reply terminate(struct world *w, const char *id)
{
    struct reply t = {.w = w};
    w->provider.ops->terminate(&w->provider, id, on_terminate, &t);
    rb_loop_uv_run(w->uv);
    return t;
}

static void an_instance_lives_and_ends(void **state)
{
    struct world *w = *state;
    assert_int_equal(list(w, "r 1").n, 0);
    const struct reply first = launch(w, "token-1", "g5.xlarge", RB_MARKET_SPOT);
    if (first.code != RB_ERR_NONE)
        fail_msg("%s", first.message);
    assert_int_equal(first.instance.market, RB_MARKET_SPOT);
    assert_string_equal(first.run_id, "r 1");

    const struct reply again = launch(w, "token-1", "g5.xlarge", RB_MARKET_SPOT);
    assert_string_equal(again.id, first.id); // the same token, the same instance
    assert_int_equal(launch(w, "token-1", "g5.2xlarge", RB_MARKET_SPOT).code, RB_ERR_UNKNOWN_OUTCOME);

    const struct reply listed = list(w, "r 1");
    assert_int_equal(listed.n, 1);
    assert_string_equal(listed.id, first.id);
    assert_string_equal(listed.token, "token-1");
    assert_int_equal(list(w, "r 2").n, 0);
    assert_int_equal(list(w, NULL).n, 1);

    assert_int_equal(terminate(w, first.id).code, RB_ERR_NONE);
    assert_int_equal(terminate(w, first.id).code, RB_ERR_NONE); // idempotent
    const struct reply ended = list(w, "r 1");
    assert_true(ended.n == 0 || ended.instance.state >= RB_INSTANCE_STOPPING);
    assert_int_equal(terminate(w, "i-00000000000000000").code, RB_ERR_NOT_FOUND);
}

static void refusals_are_distinguished(void **state)
{
    struct world *w = *state;
    assert_int_equal(launch(w, "token-2", "no.such", RB_MARKET_ON_DEMAND).code, RB_ERR_INVALID);
    w->provider.ops->destroy(&w->provider);
    setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1);
    create_provider(w);
    assert_int_equal(launch(w, "token-3", "g5.xlarge", RB_MARKET_ON_DEMAND).code, RB_ERR_DENIED);
}

static void offers_have_prices(void **state)
{
    struct world *w = *state;
    static const char *const types[] = {"g5.xlarge"};
    struct reply t = {.w = w};
    w->provider.ops->offers(&w->provider, types, 1, on_offers, &t);
    rb_loop_uv_run(w->uv);
    if (t.code != RB_ERR_NONE)
        fail_msg("%s", t.message);
    assert_int_equal(t.n, 4); // on demand, and spot in three zones
    assert_int_equal(t.offer.gpus, 1);
    assert_int_equal(t.offer.market, RB_MARKET_ON_DEMAND);
    assert_int_equal(t.offer.rate.uusd_per_hour, 1006000); // as the built-in price list has it
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_instance_lives_and_ends),
        TEST(refusals_are_distinguished),
        TEST(offers_have_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
