// The Compute Engine provider against the mock cloud, over real HTTP: two sides of the API that were written apart. The
// cloud misbehaves as reply, and however it does, there is one machine for one launch.
#include "base/arena.h"
#include "base/file.h"
#include "executor/transport/loop_uv.h"
#include "google_account.h"
#include "mock_process.h"
#include "providers/provider.h"
#include "providers/wire/http.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
    int n, n_alive;
    enum rb_instance_state state;
    enum rb_market market;
    char id[128], type[64], zone[64], run_id[64], owner[64];
    int gang; // machines that the launch is of; 0: one
    char members[8][128];
};

static void copy(char *out, size_t size, const char *text)
{
    const int n = snprintf(out, size, "%s", text ? text : "");
    assert_true(n >= 0 && (size_t)n < size);
}

static void tell(struct reply *t, const struct rb_err *err)
{
    t->code = err ? err->code : RB_ERR_NONE;
    copy(t->message, sizeof t->message, err ? err->message : "");
    rb_loop_uv_stop(t->w->uv);
}

static void keep(struct reply *t, const struct rb_instance *i)
{
    t->state = i->state;
    t->market = i->market;
    copy(t->id, sizeof t->id, i->id);
    copy(t->type, sizeof t->type, i->instance_type);
    copy(t->zone, sizeof t->zone, i->zone);
    copy(t->run_id, sizeof t->run_id, i->run_id);
    copy(t->owner, sizeof t->owner, i->owner);
}

static void on_launch(void *arg, const struct rb_err *err, const struct rb_instance *i)
{
    struct reply *t = arg;
    tell(arg, err);
    for (int k = 0; i && k < t->gang; k++) {
        assert_int_equal(i[k].member, k);
        copy(t->members[k], sizeof t->members[k], i[k].id);
    }
    if (i)
        keep(arg, i);
}

static void on_list(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct reply *t = arg;
    tell(t, err);
    t->n = n;
    t->complete = complete;
    for (int i = 0; i < n; i++) {
        keep(t, &instances[i]);
        t->n_alive += t->state == RB_INSTANCE_PENDING || t->state == RB_INSTANCE_RUNNING;
    }
}

static void on_terminate(void *arg, const struct rb_err *err)
{
    tell(arg, err);
}

static void begin(struct world *w, const char *chaos)
{
    char ready[256], url[128], sa[300];
    google_account_begin();
    copy(sa, sizeof sa, google_account_path("account.json"));
    RB_AUTO(rb_auto_free) char *rules = rb_xstrdup(google_account_path("chaos.yaml"));
    google_account_write(rules, chaos ? chaos : "format: rb-chaos/1\nrules: []\n", 0600);
    const char *const args[] = {"--gcp", "0",       "--ec2", "0", "--speed", "200", "--credentials-out",
                                sa,      "--chaos", rules,   NULL};
    w->mock = mock_process_start(args, ready);
    const char *gcp = strstr(ready, "gcp=");
    if (!gcp || sscanf(gcp, "gcp=%127s", url) != 1)
        fail_msg("no gcp= in: %s", ready);
    setenv("GOOGLE_APPLICATION_CREDENTIALS", sa, 1);
    setenv("RB_GCP_COMPUTE_ENDPOINT", url, 1);
    w->uv = rb_loop_uv_create();
    assert_true(rb_http_create(rb_loop_uv_loop(w->uv), &w->http, NULL));
    const struct rb_provider_ops *ops;
    char region[64];
    struct rb_err err;
    assert_true(rb_provider_find("gcp/us-central1", &ops, region, NULL));
    const struct rb_provider_config config = {.loop = rb_loop_uv_loop(w->uv), .http = w->http, .region = region};
    if (!ops->create(&config, &w->provider, &err))
        fail_msg("%s", err.message);
    assert_true(ops->is_harmless(region));
}

static void finish(struct world *w)
{
    w->provider.ops->destroy(&w->provider);
    rb_http_destroy(w->http);
    rb_loop_uv_destroy(w->uv);
    assert_true(mock_process_stop(w->mock));
    google_account_end();
}

#define TAGS {.name = "rb-cifar-0", .run_id = "cifar-1", .launch_id = "0af", .owner = "ann@lab"}

static const struct rb_launch plain = {
    .token = "token-1",
    .region = "us-central1",
    .instance_type = "n1-standard-8+nvidia-tesla-t4:1",
    .market = RB_MARKET_SPOT,
    .image_id = "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64",
    .user_data = "#!/bin/sh\ntrue\n",
    .disk_gb = 50,
    .max_lifetime_s = 86400,
    .tags = TAGS,
};

static struct reply launch(struct world *w, const struct rb_launch *l)
{
    struct reply t = {.w = w, .gang = l->count};
    w->provider.ops->launch(&w->provider, l, on_launch, &t);
    rb_loop_uv_run(w->uv);
    return t;
}

static struct reply list(struct world *w, const char *run_id)
{
    struct reply t = {.w = w};
    w->provider.ops->list(&w->provider, run_id, on_list, &t);
    rb_loop_uv_run(w->uv);
    if (t.code != RB_ERR_NONE)
        fail_msg("%s", t.message);
    return t;
}

static struct reply terminate(struct world *w, const char *id)
{
    struct reply t = {.w = w};
    w->provider.ops->terminate(&w->provider, id, on_terminate, &t);
    rb_loop_uv_run(w->uv);
    return t;
}

// Said again while its answer is unknown, as a caller does.
static struct reply launch_until_known(struct world *w, const struct rb_launch *l)
{
    struct reply t = launch(w, l);
    for (int i = 0; i < 5 && (t.code == RB_ERR_UNKNOWN_OUTCOME || t.code == RB_ERR_IO); i++)
        t = launch(w, l);
    return t;
}

// Machines take a while to go: nodes are processes.
static void expect_none_left(struct world *w)
{
    const time_t patience = time(NULL) + 30;
    struct reply left;
    while ((left = list(w, NULL)).n > 0 && time(NULL) < patience)
        assert_int_equal(left.n_alive, 0);
    assert_int_equal(left.n, 0);
    assert_true(left.complete);
}

static void expect_gone(struct world *w, const char *id)
{
    const struct reply ended = terminate(w, id);
    if (ended.code != RB_ERR_NONE)
        fail_msg("%s", ended.message);
    expect_none_left(w);
    assert_int_equal(terminate(w, id).code, RB_ERR_NONE); // again: it has ended
}

static void an_instance_lives_and_ends(void **state)
{
    (void)state;
    struct world w;
    begin(&w, NULL);
    assert_int_equal(list(&w, "cifar-1").n, 0);
    const struct reply first = launch(&w, &plain);
    if (first.code != RB_ERR_NONE)
        fail_msg("%s", first.message);
    assert_int_equal(first.market, RB_MARKET_SPOT);
    assert_string_equal(first.type, "n1-standard-8+nvidia-tesla-t4:1");
    assert_string_equal(first.run_id, "cifar-1");
    assert_string_equal(first.owner, "ann@lab");

    assert_string_equal(launch(&w, &plain).id, first.id); // the same token, the same instance
    const struct reply listed = list(&w, "cifar-1");
    assert_int_equal(listed.n, 1);
    assert_true(listed.complete);
    assert_string_equal(listed.id, first.id);
    assert_int_equal(list(&w, "cifar-10").n, 0);
    assert_int_equal(list(&w, NULL).n, 1);
    expect_gone(&w, first.id);
    finish(&w);
}

static void refusals_are_distinguished(void **state)
{
    (void)state;
    struct world w;
    struct rb_launch l = plain;
    begin(&w, NULL);
    l.instance_type = "g9-standard-4";
    assert_int_equal(launch(&w, &l).code, RB_ERR_INVALID);
    l.zone = "us-central1-a";
    assert_int_equal(launch(&w, &l).code, RB_ERR_INVALID);
    l.instance_type = "g2-standard-4";
    l.image_id = "projects/stranger/global/images/nothing";
    assert_int_equal(launch(&w, &l).code, RB_ERR_INVALID);
    assert_int_equal(list(&w, NULL).n, 0);
    finish(&w);
}

#define CHAOS(where, rest) "format: rb-chaos/1\nrules:\n  - {where: {front: gcp, action: " where "}, " rest "}\n"

// Every way in which an answer can be missing, at every step of a launch and of an end.
static void whatever_is_lost_there_is_one_machine(void **state)
{
    (void)state;
    static const char *const chaos[] = {
        CHAOS("instances.insert", "times: 1, what: lost_response"),
        CHAOS("instances.insert", "times: 5, what: lost_response"), // all tries of a launch
        CHAOS("instances.insert", "times: 1, what: connection_reset"),
        CHAOS("instances.insert", "times: 1, what: {html_502: {after_effect: true}}"),
        CHAOS("instances.insert", "times: 1, what: {truncated_body: {fraction: 0.5}}"),
        CHAOS("zoneOperations.wait", "times: 5, what: lost_response"),
        CHAOS("zoneOperations.wait", "times: 1, what: html_502"),
        CHAOS("instances.get", "times: 2, what: {truncated_body: {fraction: 0.9}}"),
        CHAOS("instances.aggregatedList", "times: 2, what: lost_response"),
        CHAOS("instances.delete", "times: 2, what: lost_response"),
    };
    for (size_t i = 0; i < N_OF(chaos); i++) {
        struct world w;
        begin(&w, chaos[i]);
        const struct reply t = launch_until_known(&w, &plain);
        if (t.code != RB_ERR_NONE)
            fail_msg("%s: %s", chaos[i], t.message);
        const struct reply listed = list(&w, "cifar-1");
        assert_int_equal(listed.n, 1);
        assert_string_equal(listed.id, t.id);
        assert_int_equal(terminate(&w, t.id).code, RB_ERR_NONE);
        finish(&w);
    }
}

// The operation fails after it was accepted, in one zone only.
static void an_empty_zone_is_left(void **state)
{
    (void)state;
    struct world w;
    begin(&w, NULL);
    const struct reply first = launch(&w, &plain); // where this run begins
    finish(&w);
    char chaos[512];
    snprintf(chaos, sizeof chaos,
             "format: rb-chaos/1\nrules:\n  - {where: {front: gcp, zone: %s}, what: {fails_to_start: {code: "
             "ZONE_RESOURCE_POOL_EXHAUSTED}}}\n",
             first.zone);
    begin(&w, chaos);
    const struct reply t = launch(&w, &plain);
    if (t.code != RB_ERR_NONE)
        fail_msg("%s", t.message);
    assert_string_not_equal(t.zone, first.zone);
    struct rb_launch there = plain;
    there.zone = first.zone;
    there.token = "token-2";
    assert_int_equal(launch(&w, &there).code, RB_ERR_CAPACITY);
    const struct reply listed = list(&w, "cifar-1");
    assert_int_equal(listed.n_alive, 1);
    finish(&w);
}

static void a_zone_that_does_not_answer_is_no_empty_zone(void **state)
{
    (void)state;
    struct world w;
    begin(&w, CHAOS("instances.aggregatedList", "what: {unreachable: {zone: us-central1-b}}"));
    const struct reply listed = list(&w, NULL);
    assert_int_equal(listed.code, RB_ERR_NONE);
    assert_false(listed.complete);
    assert_int_equal(launch(&w, &plain).code, RB_ERR_IO);
    finish(&w);
}

// --- gangs

static struct rb_launch of_three(void)
{
    struct rb_launch l = plain;
    l.count = 3;
    return l;
}

static void expect_all_gone(struct world *w, const struct reply *t)
{
    for (int k = 0; k < t->gang; k++)
        assert_int_equal(terminate(w, t->members[k]).code, RB_ERR_NONE);
    expect_none_left(w);
}

static void a_gang_lives_and_ends(void **state)
{
    (void)state;
    struct world w;
    const struct rb_launch l = of_three();
    begin(&w, NULL);
    const struct reply first = launch(&w, &l);
    if (first.code != RB_ERR_NONE)
        fail_msg("%s", first.message);
    const struct reply again = launch(&w, &l);
    const struct reply listed = list(&w, "cifar-1");
    assert_int_equal(listed.n, 3);
    for (int k = 0; k < 3; k++) {
        assert_string_equal(again.members[k], first.members[k]);
        assert_non_null(strstr(first.members[k], first.zone)); // all in one
    }
    expect_all_gone(&w, &first);
    finish(&w);
}

static void whatever_is_lost_there_is_one_gang(void **state)
{
    (void)state;
    static const char *const chaos[] = {
        CHAOS("instances.bulkInsert", "times: 1, what: lost_response"),
        CHAOS("instances.bulkInsert", "times: 1, what: {html_502: {after_effect: true}}"),
        CHAOS("instances.bulkInsert", "times: 1, what: {truncated_body: {fraction: 0.5}}"),
        CHAOS("zoneOperations.wait", "times: 1, what: html_502"),
        CHAOS("instances.get", "times: 2, what: {truncated_body: {fraction: 0.9}}"),
        CHAOS("instances.aggregatedList", "times: 2, what: lost_response"),
    };
    for (size_t i = 0; i < N_OF(chaos); i++) {
        struct world w;
        const struct rb_launch l = of_three();
        begin(&w, chaos[i]);
        const struct reply t = launch_until_known(&w, &l);
        if (t.code != RB_ERR_NONE)
            fail_msg("%s: %s", chaos[i], t.message);
        assert_int_equal(list(&w, "cifar-1").n, 3);
        expect_all_gone(&w, &t);
        finish(&w);
    }
}

// In the zone where it begins, one of three finds no machine.
static void a_gang_goes_to_another_zone_as_a_whole(void **state)
{
    (void)state;
    struct world w;
    const struct rb_launch l = of_three();
    begin(&w, NULL);
    const struct reply first = launch(&w, &l);
    finish(&w);
    char chaos[512];
    snprintf(chaos, sizeof chaos,
             "format: rb-chaos/1\nrules:\n  - {where: {front: gcp, zone: %s}, times: 1, what: {fails_to_start: {code: "
             "ZONE_RESOURCE_POOL_EXHAUSTED}}}\n",
             first.zone);
    begin(&w, chaos);
    const struct reply t = launch(&w, &l);
    if (t.code != RB_ERR_NONE)
        fail_msg("%s", t.message);
    assert_string_not_equal(t.zone, first.zone);
    assert_int_equal(list(&w, "cifar-1").n_alive, 3);
    finish(&w);
    begin(&w, chaos);
    struct rb_launch there = l;
    there.zone = first.zone;
    assert_int_equal(launch(&w, &there).code, RB_ERR_CAPACITY);
    assert_int_equal(list(&w, "cifar-1").n_alive, 0);
    finish(&w);
}

// With a word: only the tests whose names hold it; without: all but those of gangs. They mostly wait for a cloud that does
// not answer, so they are run beside each other.
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    else
        cmocka_set_skip_filter("*gang*");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instance_lives_and_ends),
        cmocka_unit_test(refusals_are_distinguished),
        cmocka_unit_test(whatever_is_lost_there_is_one_machine),
        cmocka_unit_test(an_empty_zone_is_left),
        cmocka_unit_test(a_zone_that_does_not_answer_is_no_empty_zone),
        cmocka_unit_test(a_gang_lives_and_ends),
        cmocka_unit_test(whatever_is_lost_there_is_one_gang),
        cmocka_unit_test(a_gang_goes_to_another_zone_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
