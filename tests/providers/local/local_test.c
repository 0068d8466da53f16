// This machine as a provider: one node, one holder, free.
#include "providers/local/local.h"
#include "test_loop.h"
#include "tests/base/check.h"

#include <stdlib.h>

struct reply {
    bool done;
    int number;
    int n;
    struct rb_instance instance;
    char id[64];
    int gpus;
    bool free;
};

static void tell(struct reply *t, const struct rb_err *err)
{
    t->done = true;
    t->number = err ? rb_err_number(err) : RB_E_NONE;
}

static void on_launch(void *arg, const struct rb_err *err, const struct rb_instance *i)
{
    struct reply *t = arg;
    tell(t, err);
    if (i) {
        t->instance = *i;
        strncpy(t->id, i->id, sizeof t->id - 1);
    }
}

static void on_list(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct reply *t = arg;
    tell(t, err);
    assert_true(complete);
    t->n = n;
    if (n > 0)
        t->instance = instances[0];
}

static void on_terminate(void *arg, const struct rb_err *err)
{
    tell(arg, err);
}

static void on_offers(void *arg, const struct rb_err *err, const struct rb_catalog *catalog)
{
    struct reply *t = arg;
    tell(t, err);
    assert_int_equal(catalog->n_offers, 1);
    t->gpus = catalog->offers[0].gpus;
    t->free = catalog->offers[0].declared_free;
}

struct world {
    struct test_loop loop;
    struct rb_provider provider;
};

static void begin(struct world *w)
{
    test_loop_init(&w->loop);
    const struct rb_provider_config config = {.loop = &w->loop.loop, .local_slots = 4};
    assert_true(rb_provider_local.create(&config, &w->provider, NULL));
}

static struct reply wait_for(struct world *w, struct reply *t)
{
    assert_false(t->done); // never from inside the call
    assert_true(test_loop_run(&w->loop, &t->done));
    return *t;
}

static struct reply launch(struct world *w, const char *token, enum rb_market market)
{
    const struct rb_launch l = {.token = token,
                                .instance_type = "local",
                                .market = market,
                                .tags = {.owner = "ann", .run_id = "r-1"}};
    struct reply t = {0};
    w->provider.ops->launch(&w->provider, &l, on_launch, &t);
    return wait_for(w, &t);
}

static struct reply list(struct world *w, const char *run_id)
{
    struct reply t = {0};
    w->provider.ops->list(&w->provider, run_id, on_list, &t);
    return wait_for(w, &t);
}

static struct reply terminate(struct world *w, const char *id)
{
    struct reply t = {0};
    w->provider.ops->terminate(&w->provider, id, on_terminate, &t);
    return wait_for(w, &t);
}

static void one_node_lives_and_ends(void **state)
{
    (void)state;
    struct world w;
    begin(&w);
    assert_int_equal(list(&w, "r-1").n, 0);
    const struct reply t = launch(&w, "0123456789abcdef0123", RB_MARKET_ON_DEMAND);
    assert_int_equal(t.number, RB_E_NONE);
    assert_string_equal(t.id, "local-0123456789abcdef");
    assert_int_equal(t.instance.state, RB_INSTANCE_RUNNING);
    assert_string_equal(t.instance.address, "local");
    assert_true(t.instance.running_at_us >= TEST_LOOP_START_UNIX_US);
    assert_int_equal(list(&w, "r-1").n, 1);
    assert_int_equal(list(&w, NULL).n, 1);
    assert_int_equal(list(&w, "r-2").n, 0);
    assert_int_equal(terminate(&w, "local-other").number, RB_E_LOCAL_NODE);
    assert_int_equal(terminate(&w, t.id).number, RB_E_NONE);
    const struct reply ended = list(&w, "r-1");
    assert_int_equal(ended.instance.state, RB_INSTANCE_TERMINATED);
    assert_int_equal(terminate(&w, t.id).number, RB_E_NONE); // again: still fine
    assert_true(list(&w, "r-1").instance.terminated_at_us == ended.instance.terminated_at_us);
    w.provider.ops->destroy(&w.provider);
}

static void tokens_are_idempotent(void **state)
{
    (void)state;
    struct world w;
    begin(&w);
    assert_int_equal(launch(&w, "a", RB_MARKET_ON_DEMAND).number, RB_E_NONE);
    assert_int_equal(launch(&w, "a", RB_MARKET_ON_DEMAND).number, RB_E_NONE);
    assert_int_equal(launch(&w, "b", RB_MARKET_ON_DEMAND).number, RB_E_LOCAL_BUSY);
    assert_int_equal(terminate(&w, "local-a").number, RB_E_NONE);
    assert_int_equal(launch(&w, "b", RB_MARKET_ON_DEMAND).number, RB_E_NONE);
    assert_int_equal(launch(&w, "c", RB_MARKET_SPOT).number, RB_E_LOCAL_LAUNCH);
    w.provider.ops->destroy(&w.provider);
}

static void the_offer_is_free(void **state)
{
    (void)state;
    struct world w;
    struct reply t = {0};
    begin(&w);
    w.provider.ops->offers(&w.provider, NULL, 0, on_offers, &t);
    t = wait_for(&w, &t);
    assert_int_equal(t.gpus, 4);
    assert_true(t.free);
    w.provider.ops->destroy(&w.provider);
}

static void destroying_drops_answers(void **state)
{
    (void)state;
    struct world w;
    struct reply t = {0};
    begin(&w);
    w.provider.ops->list(&w.provider, NULL, on_list, &t);
    w.provider.ops->terminate(&w.provider, "x", on_terminate, &t);
    w.provider.ops->destroy(&w.provider);
    assert_int_equal(w.loop.n_timers, 0);
    assert_false(test_loop_run(&w.loop, &t.done));
}

static void slots_can_be_chosen(void **state)
{
    (void)state;
    const char *accelerator = NULL;
    setenv("RB_LOCAL_SLOTS", "7", 1);
    assert_int_equal(rb_local_slots(false, &accelerator), 7);
    assert_non_null(accelerator);
    unsetenv("RB_LOCAL_SLOTS");
    const int detected = rb_local_slots(false, NULL);
    assert_true(detected >= 1 && detected <= 64);
    setenv("RB_LOCAL_SLOTS", "many", 1); // warned about, not believed
    assert_int_equal(rb_local_slots(false, NULL), detected);
    unsetenv("RB_LOCAL_SLOTS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node_lives_and_ends), cmocka_unit_test(tokens_are_idempotent),
        cmocka_unit_test(the_offer_is_free),       cmocka_unit_test(destroying_drops_answers),
        cmocka_unit_test(slots_can_be_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
