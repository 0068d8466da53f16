// Packing groups of trials: the published example and formulas, bounds and promises on random groups, small groups beside an
// exhaustive search that knows nothing of the branch and bound.
#include "engine/packing/branch.h"

#include "base/stream.h"
#include "bench/packing_check.h"
#include "bench/packing_groups.h"
#include "check.h"

#include <math.h>

static const struct rb_fluid_caps caps = {.most_sharers = 2, .most_gpus = 4};

// Section 4.3's example: half a GPU takes twice as long, three GPUs a third.
static const struct rb_width toy_widths[] = {{1, 2}, {1, 1}, {2, 1}, {3, 1}, {4, 1}};
static const int64_t toy_heights[] = {8, 4, 2, 2, 1, 8, 4, 2, 2, 1, 24, 12, 6, 4, 3, 60, 30, 15, 10, 8};
static const struct rb_pack_group toy = {
    .n_trials = 4, .widths = toy_widths, .n_widths = 5, .height_us = toy_heights, .n_nodes = 1, .node_gpus = 5};

static int64_t list(const struct rb_pack_group *g, const int *widths, const int *order)
{
    struct rb_lister lister = {0};
    const int64_t makespan_us = rb_pack_list(&lister, g, widths, order, RB_LIST_GREEDY, NULL);
    rb_lister_finish(&lister);
    return makespan_us;
}

static void the_published_example(void **state)
{
    (void)state;
    int widths[4], order[4];
    struct rb_err err;
    assert_true(rb_pack_group_check(&toy, &err));
    rb_fluid_static(&toy, caps, 5, widths, order);
    assert_int_equal(widths[0], 0); // half a GPU
    assert_int_equal(widths[1], 0);
    assert_int_equal(widths[2], 1);
    assert_int_equal(widths[3], 3); // three
    assert_int_equal(order[0], 3);
    assert_int_equal(list(&toy, widths, order), 12);
    rb_pack_first_in_first_out(&toy, widths, order);
    assert_int_equal(list(&toy, widths, order), 30);

    struct rb_pack_answer ours;
    const struct rb_pack_options options = rb_packing_study_options;
    rb_pack(&toy, &options, &ours);
    assert_true(rb_packing_check(&toy, &ours.packing, &err));
    assert_int_equal(ours.packing.makespan_us, 10);
    assert_true(rb_packing_is_optimal(&ours));
    rb_pack_answer_finish(&ours);
}

// The proof of Theorem 1 shows no factor of 2 where many trials are just short of a GPU each: 11 equal ones on 10 GPUs.
static void fluid_is_not_within_twice_the_optimum(void **state)
{
    (void)state;
    static struct rb_width widths[13];
    static int64_t heights[11 * 13];
    int n = 0, chosen[11], order[11];
    for (int p = 4; p > 1; p--)
        widths[n++] = (struct rb_width){1, p};
    for (int gpus = 1; gpus <= 10; gpus++)
        widths[n++] = (struct rb_width){gpus, 1};
    for (int i = 0; i < 11 * n; i++) // areas stay the same
        heights[i] = 2520 * widths[i % n].sharers / widths[i % n].gpus;
    const struct rb_pack_group g = {
        .n_trials = 11, .widths = widths, .n_widths = n, .height_us = heights, .n_nodes = 1, .node_gpus = 10};
    rb_fluid_static(&g, (struct rb_fluid_caps){.most_sharers = 4, .most_gpus = 10}, 10, chosen, order);
    assert_int_equal(list(&g, chosen, order), 4 * 2520); // a quarter of a GPU each
    struct rb_pack_answer ours;
    const struct rb_pack_options options = rb_packing_study_options;
    rb_pack(&g, &options, &ours);
    assert_int_equal(ours.packing.makespan_us, 11 * 252); // one after the other on all GPUs, or as good
    assert_true(rb_packing_is_optimal(&ours));
    rb_pack_answer_finish(&ours);
}

static void groups_that_cannot_be_packed_are_refused(void **state)
{
    (void)state;
    static const struct rb_width too_many[] = {{1, 11}}, falling[] = {{2, 1}, {1, 1}}, wide[] = {{6, 1}},
                                 single[] = {{1, 1}};
    static const int64_t ones[] = {1, 1}, zero[] = {0}, never[] = {RB_PACK_NEVER}, huge[] = {INT64_MAX / 2};
    static const struct {
        const struct rb_width *widths;
        int n;
        const int64_t *heights;
        const char *says;
    } cases[] = {
        {too_many, 1, ones, "shared by up to 10"},       {falling, 2, ones, "more than the width before"},
        {wide, 1, ones, "no width that it can take"},    {single, 1, zero, "heights above 0"},
        {single, 1, never, "no width that it can take"}, {single, 1, huge, "too large"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_pack_group g = {.n_trials = 1,
                                  .widths = cases[i].widths,
                                  .n_widths = cases[i].n,
                                  .height_us = cases[i].heights,
                                  .n_nodes = 1,
                                  .node_gpus = 5};
        struct rb_err err = {0};
        assert_false(rb_pack_group_check(&g, &err));
        assert_says(&err, cases[i].says);
    }
}

static void c_and_d_come_from_what_was_measured(void **state)
{
    (void)state;
    static const double free_of_charge[] = {1, 1, 1, 1}, serial[] = {1, 2, 3, 4}, usual[] = {1, 1.2, 1.7, 2.6};
    static const int sizes[] = {1, 2, 4, 8};
    static const double speedups[] = {1, 1.9, 3.4, 3.5};
    // Nothing slows down: O_p = 1/p; one after another: 0.
    assert_true(fabs(rb_fluid_marginal_benefit(free_of_charge, 4) - 0.25) < 1e-12);
    assert_true(fabs(rb_fluid_marginal_benefit(serial, 3)) < 1e-12);
    assert_int_equal(rb_fluid_most_sharers(free_of_charge, 4, 0.1), 4);
    assert_int_equal(rb_fluid_most_sharers(free_of_charge, 4, 0.3), 3);
    assert_int_equal(rb_fluid_most_sharers(serial, 4, 0.1), 1);
    assert_int_equal(rb_fluid_most_sharers(usual, 4, 0.1), 2); // O_3 = 1 - 2/3 1.7/1.2 = 0.056
    assert_int_equal(rb_fluid_most_gpus(sizes, speedups, 4, 0.1), 4);
    assert_int_equal(rb_fluid_most_gpus(sizes, speedups, 1, 0.1), 1);
}

static void dynamic_fluid_changes_only_what_pays(void **state)
{
    (void)state;
    int widths[4], order[4];
    // Trials 0 and 1 should shrink to half a GPU, 3 grow to three GPUs; what a change costs decides.
    const int held[] = {1, 1, 1, 1};
    const int64_t cheap[] = {0, 0, 0, 19}, costly[] = {0, 0, 0, 20};
    rb_fluid_dynamic(&toy, caps, held, cheap, widths, order);
    assert_int_equal(widths[3], 3); // 10 + 19 < 30
    assert_int_equal(widths[0], 1); // half of (8 + 0) is not less than 4
    rb_fluid_dynamic(&toy, caps, held, costly, widths, order);
    assert_int_equal(widths[3], 1);
    const int waiting[] = {-1, -1, -1, -1};
    rb_fluid_dynamic(&toy, caps, waiting, costly, widths, order);
    assert_int_equal(widths[3], 3); // nothing runs, nothing is lost
}

static void the_released_formula_gives_two_to_four_shares(void **state)
{
    (void)state;
    int widths[4], order[4];
    static const int64_t units[] = {4, 4, 12, 30}; // clamped: 2, 2, 2, 2 -> 1.25 GPUs each of 5
    rb_fluid_released(&toy, units, widths, order);
    for (int i = 0; i < 4; i++)
        assert_int_equal(widths[i], 1);
    static const int64_t uneven[] = {1, 1, 1, 30}; // 3.6 -> 3: 2, 2, 2, 3 ninths of 5
    rb_fluid_released(&toy, uneven, widths, order);
    assert_int_equal(widths[0], 1);
    assert_int_equal(widths[3], 1); // 1.67 GPUs
}

// ---- small groups: every width and every order, and every choice of GPU that sharing leaves open

struct oracle {
    const struct rb_pack_group *g;
    int sharers[8], used[8];
    int64_t ends[8][10];
    unsigned placed;
    int64_t best_us;
};

static int64_t free_from(const struct oracle *o, int gpu)
{
    int64_t free_us = 0;
    for (int i = 0; i < o->sharers[gpu]; i++)
        free_us = o->ends[gpu][i] > free_us ? o->ends[gpu][i] : free_us;
    return free_us;
}

static void try_all(struct oracle *o, int64_t now_us, int64_t end_us);

// Sets places of the GPUs in `gpus` to end then, goes on, puts them back.
static void put(struct oracle *o, int trial, int width, unsigned gpus, int place, bool fresh, int64_t start_us,
                int64_t end_us)
{
    const struct oracle before = *o;
    const int64_t own_us = start_us + rb_pack_height_us(o->g, trial, width),
                  done_us = own_us + rb_pack_tail_us(o->g, trial, width);
    for (int i = 0; i < rb_pack_n_gpus(o->g); i++) {
        if (!(gpus >> i & 1))
            continue;
        if (fresh)
            memset(o->ends[i], 0, sizeof o->ends[i]);
        o->sharers[i] = o->g->widths[width].sharers;
        o->ends[i][place] = own_us;
    }
    o->placed |= 1u << trial;
    try_all(o, start_us, done_us > end_us ? done_us : end_us);
    const int64_t best_us = o->best_us;
    *o = before;
    o->best_us = best_us;
}

static void try_width(struct oracle *o, int trial, int width, int64_t now_us, int64_t end_us)
{
    const int n = rb_pack_n_gpus(o->g);
    const struct rb_width *w = &o->g->widths[width];
    for (unsigned gpus = 1; gpus < 1u << n; gpus++) {
        if (__builtin_popcount(gpus) != w->gpus)
            continue;
        int64_t start_us = now_us;
        for (int i = 0; i < n; i++) {
            if ((gpus >> i & 1) && free_from(o, i) > start_us)
                start_us = free_from(o, i);
        }
        put(o, trial, width, gpus, 0, true, start_us, end_us);
        const int gpu = __builtin_ctz(gpus);
        for (int place = 0; w->sharers > 1 && o->sharers[gpu] == w->sharers && place < w->sharers; place++)
            put(o, trial, width, gpus, place, false, o->ends[gpu][place] > now_us ? o->ends[gpu][place] : now_us,
                end_us);
    }
}

static void try_all(struct oracle *o, int64_t now_us, int64_t end_us)
{
    if (end_us >= o->best_us)
        return;
    if (o->placed == (1u << o->g->n_trials) - 1)
        o->best_us = end_us;
    for (int i = 0; i < o->g->n_trials; i++) {
        for (int w = 0; w < o->g->n_widths && !(o->placed >> i & 1); w++) {
            if (rb_pack_height_us(o->g, i, w) != RB_PACK_NEVER && rb_pack_fits(o->g, w))
                try_width(o, i, w, now_us, end_us);
        }
    }
}

static void small_groups_are_packed_as_short_as_can_be(void **state)
{
    (void)state;
    static const struct rb_width widths[] = {{1, 3}, {1, 2}, {1, 1}, {2, 1}, {3, 1}};
    for (uint32_t index = 0; index < 300; index++) {
        struct rb_stream s;
        int64_t heights[4 * 5], free_us[3] = {0}, tails[4 * 5] = {0};
        rb_stream_init(&s, &(struct rb_stream_key){.seed = 5, .purpose = RB_DRAW_SEARCH, .index = index});
        struct rb_pack_group g = {.n_trials = 1 + (int)rb_stream_below(&s, 4),
                                  .widths = widths,
                                  .n_widths = 5,
                                  .height_us = heights,
                                  .n_nodes = 1,
                                  .node_gpus = 2 + (int)rb_stream_below(&s, 2)};
        for (int i = 0; i < g.n_trials * g.n_widths; i++)
            heights[i] =
                rb_stream_below(&s, 8) == 0 && i % 5 != 2 ? RB_PACK_NEVER : 1 + (int64_t)rb_stream_below(&s, 12);
        for (int i = 0; i < 3 && index % 2 == 0; i++)
            free_us[i] = (int64_t)rb_stream_below(&s, 6);
        for (int i = 0; i < 20 && index % 3 == 0; i++)
            tails[i] = (int64_t)rb_stream_below(&s, 10);
        g.free_us = free_us;
        g.tail_us = tails;
        struct oracle o = {.g = &g, .best_us = 1000};
        for (int i = 0; i < 8; i++)
            o.sharers[i] = 1;
        for (int i = 0; i < rb_pack_n_gpus(&g); i++)
            o.ends[i][0] = free_us[i];
        try_all(&o, 0, 0);
        struct rb_branching exact;
        assert_true(rb_pack_branch(&g, 1000, 0, INT64_MAX, &exact));
        assert_true(exact.complete && exact.improved);
        assert_int_equal(exact.best_us, o.best_us);
    }
}

// ---- random groups

// Of every three groups one finds GPUs taken, and one has trials that something follows.
static void add_surroundings(uint32_t index, struct rb_study_group *g, int64_t *free_us, int64_t *tails)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 8, .purpose = RB_DRAW_SEARCH, .index = index});
    for (int i = 0; i < rb_pack_n_gpus(&g->group); i++)
        free_us[i] = rb_stream_below(&s, 2) ? (int64_t)rb_stream_below(&s, 1000000000) : 0;
    for (int i = 0; i < g->group.n_trials * g->group.n_widths; i++)
        tails[i] = (int64_t)rb_stream_below(&s, 500000000);
    if (index % 3 == 1)
        g->group.free_us = free_us;
    if (index % 3 == 2)
        g->group.tail_us = tails;
}

static void no_promise_is_broken(void **state)
{
    (void)state;
    int n_optimal = 0;
    struct rb_pack_options options = rb_packing_study_options;
    options.most_placements = 10000;
    options.most_branches = 5000;
    for (uint32_t i = 0; i < 500; i++) {
        struct rb_study_group s;
        struct rb_pack_answer ours;
        struct rb_err err;
        int widths[RB_STUDY_MOST_TRIALS], order[RB_STUDY_MOST_TRIALS];
        int64_t free_us[32], tails[RB_STUDY_MOST_TRIALS * RB_STUDY_MOST_WIDTHS];
        rb_study_group_draw(7, i, RB_STUDY_MOST_TRIALS, &s);
        add_surroundings(i, &s, free_us, tails);
        rb_pack(&s.group, &options, &ours);
        if (!rb_packing_check(&s.group, &ours.packing, &err))
            fail_msg("group %u: %s", i, err.message);
        assert_true(rb_packing_simple_bound_us(&s.group) <= ours.bound_us);
        assert_true(ours.bound_us <= ours.packing.makespan_us);
        assert_true(ours.packing.makespan_us <= ours.certified_us);
        assert_true(i % 3 == 1 || rb_packing_proved_ratio(&ours) <= 3.5);
        rb_fluid_static(&s.group, s.caps, rb_pack_n_gpus(&s.group), widths, order);
        assert_true(ours.packing.makespan_us <= list(&s.group, widths, order));
        n_optimal += rb_packing_is_optimal(&ours);
        rb_pack_answer_finish(&ours);
    }
    assert_true(n_optimal > 100);
}

static void a_false_packing_is_found_out(void **state)
{
    (void)state;
    struct rb_pack_answer ours;
    struct rb_err err;
    const struct rb_pack_options options = rb_packing_study_options;
    rb_pack(&toy, &options, &ours);
    struct rb_packed *longest = &ours.packing.trials[3];
    longest->end_us -= 1;
    assert_false(rb_packing_check(&toy, &ours.packing, &err));
    assert_says(&err, "RB2009 as long as it takes");
    longest->end_us += 1;
    for (int i = 0; i < 3; i++) { // everybody on the GPUs of the longest
        ours.packing.slots[ours.packing.trials[i].first_slot] = (struct rb_slot){.node = 0, .gpus = 1};
        ours.packing.trials[i].n_slots = 1;
        ours.packing.trials[i].width = 1;
        ours.packing.trials[i].start_us = 0;
        ours.packing.trials[i].end_us = rb_pack_height_us(&toy, i, 1);
    }
    ours.packing.makespan_us = 100;
    assert_false(rb_packing_check(&toy, &ours.packing, &err));
    assert_says(&err, "more than 1 trials");
    rb_pack_answer_finish(&ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_example),
        cmocka_unit_test(fluid_is_not_within_twice_the_optimum),
        cmocka_unit_test(groups_that_cannot_be_packed_are_refused),
        cmocka_unit_test(c_and_d_come_from_what_was_measured),
        cmocka_unit_test(dynamic_fluid_changes_only_what_pays),
        cmocka_unit_test(the_released_formula_gives_two_to_four_shares),
        cmocka_unit_test(small_groups_are_packed_as_short_as_can_be),
        cmocka_unit_test(no_promise_is_broken),
        cmocka_unit_test(a_false_packing_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
