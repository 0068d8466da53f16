// What is ruled out before its stage times are made is infeasible once they are, and it takes fewer of them to say so.
#include "case.h"

#include "planner/scores/in_time.h"
#include "planner/scores/score.h"

#include "base/err.h"
#include "base/stream.h"

#define N_CASES      40
#define N_CANDIDATES 20

struct fixture {
    struct rb_case c;
    struct rb_scenario scenario;
    struct rb_search search;
};

static void open_case(struct fixture *f, uint32_t number, int64_t deadline_us)
{
    struct rb_err err = {0};
    struct rb_offer *offers;
    int n;
    case_random(&f->c, number);
    f->c.req.confidence = 0.9;
    f->c.req.deadline_us = deadline_us;
    assert_true(rb_planner_offers(&f->c.job, &f->c.catalog, &f->c.arena, &offers, &n, &err));
    assert_true(
        rb_scenario_init(&f->scenario, &f->c.job, &f->c.profile, offers, n, &f->c.catalog, f->c.req.seed, &err));
    assert_true(rb_search_init(&f->search, &f->c.req, &f->scenario, &err));
}

static void close_case(struct fixture *f)
{
    rb_search_finish(&f->search);
    rb_scenario_finish(&f->scenario);
    case_finish(&f->c);
}

static int64_t tightest_us(uint32_t number)
{
    const struct rb_plan_result *result;
    struct rb_err err = {0};
    struct fixture f;
    open_case(&f, number, 0);
    assert_true(rb_search_plan(&f.search, &rb_planner_optimal, &result, &err));
    const int64_t us = result->nearest_deadline_us;
    close_case(&f);
    return us;
}

// Any size on any number of nodes that a trial fits on, of one offer.
static struct rb_candidate random_candidate(const struct fixture *f, struct rb_stream *r)
{
    const struct rb_search *s = &f->search;
    struct rb_candidate c = {.n_stages = f->scenario.stages.n};
    int offer;
    do
        offer = (int)rb_stream_below(r, (uint64_t)f->scenario.n_offers);
    while (s->sizes[offer].n == 0);
    for (int i = 0; i < c.n_stages; i++) {
        const int gpus = s->sizes[offer].gpus[rb_stream_below(r, (uint64_t)s->sizes[offer].n)];
        const int fewest = rb_nodes_per_trial(rb_search_gpus_per_node(s, offer), gpus);
        const int most = rb_search_useful_nodes(s, i, offer);
        const int more = most > fewest ? (int)rb_stream_below(r, (uint64_t)(most - fewest) + 1) : 0;
        c.stages[i] = (struct rb_choice){offer, gpus, fewest + more};
    }
    return c;
}

static void what_is_ruled_out_is_late(void **state)
{
    static const double shares[] = {0.8, 1.02, 1.2, 1.6};
    int n_late = 0, n_feasible = 0;
    (void)state;
    for (uint32_t i = 0; i < N_CASES; i++) {
        struct fixture f;
        open_case(&f, i, (int64_t)(shares[i % 4] * (double)tightest_us(i)));
        struct rb_stream r;
        rb_stream_init(&r, &(struct rb_stream_key){.seed = 11, .purpose = RB_DRAW_SEARCH, .index = i});
        for (int k = 0; k < N_CANDIDATES && f.search.by_laws; k++) {
            struct rb_candidate c = random_candidate(&f, &r);
            struct rb_err err = {0};
            bool may_be_in_time;
            assert_true(rb_may_be_in_time(&f.search, &c, &may_be_in_time, &err));
            assert_true(rb_search_score(&f.search, &c, f.c.req.samples, &err));
            const bool feasible = rb_search_feasible(&f.search, &c.estimate);
            assert_true(may_be_in_time || !feasible);
            n_late += !may_be_in_time;
            n_feasible += feasible;
        }
        close_case(&f);
    }
    assert_true(n_late > N_CASES && n_feasible > N_CASES);
}

// Fixed clusters from the largest to the smallest of one size: where all laws of a late one are made they say so of all smaller
// ones, and no law of a schedule is made for these.
static void laws_of_more_nodes_rule_out_fewer(void **state)
{
    int n_late = 0;
    (void)state;
    for (uint32_t i = 0; i < N_CASES; i++) {
        struct fixture f;
        bool were_late = false;
        open_case(&f, i, (int64_t)(0.97 * (double)tightest_us(i)));
        int offer = 0;
        while (f.search.sizes[offer].n == 0)
            offer++;
        const int gpus = f.search.sizes[offer].gpus[0];
        const int fewest = rb_nodes_per_trial(rb_search_gpus_per_node(&f.search, offer), gpus);
        for (int nodes = rb_search_useful_nodes(&f.search, 0, offer); nodes >= fewest && f.search.by_laws; nodes--) {
            struct rb_candidate c = {.n_stages = f.scenario.stages.n};
            struct rb_err err = {0};
            bool may_be_in_time;
            for (int k = 0; k < c.n_stages; k++)
                c.stages[k] = (struct rb_choice){offer, gpus, nodes};
            const int64_t before = rb_stage_times_made(f.search.times, RB_STAGE_SCHEDULE);
            assert_true(rb_may_be_in_time(&f.search, &c, &may_be_in_time, &err));
            if (were_late) {
                assert_false(may_be_in_time);
                assert_int_equal(rb_stage_times_made(f.search.times, RB_STAGE_SCHEDULE), before);
                n_late++;
            }
            if (!may_be_in_time && !were_late)
                assert_true(rb_search_score(&f.search, &c, f.c.req.samples, &err));
            were_late |= !may_be_in_time;
        }
        close_case(&f);
    }
    assert_true(n_late > N_CASES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_ruled_out_is_late),
        cmocka_unit_test(laws_of_more_nodes_rule_out_fewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
