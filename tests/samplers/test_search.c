// Searches: every sampler learns, and is a pure function of the facts: a search that is fed them again, with or
// without its questions in between, proposes the same. Options and earlier runs.
#include "toy.h"

#include "base/text/buf.h"
#include "profiles/job/job_names.h"

#define N_SEEDS 20

static const char *const learners[] = {"bohb", "de", "gp", "tpe"};

// ---- learning

static double mean_best(const char *sampler, int n_trials)
{
    double sum = 0;
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++)
        sum += toy_search(sampler, seed, n_trials) / N_SEEDS;
    return sum;
}

static void every_sampler_that_learns_is_better_than_random(void **state)
{
    (void)state;
    const double random = mean_best("random", 60);
    for (size_t i = 0; i < N_OF(learners); i++) {
        const double learned = mean_best(learners[i], 60); // the optimum is 0
        if (!(learned > 0.9 * random))
            fail_msg("%s: %g, random: %g", learners[i], learned, random);
    }
}

// 64 points of a net: one in each cell of 8 x 8, and of 64 x 1.
static void sobol_points_are_a_net(void **state)
{
    (void)state;
    struct toy t;
    struct rb_arena arena;
    struct rb_suggestion s;
    int squares[64] = {0}, columns[64] = {0};
    rb_arena_init(&arena);
    toy_open(&t, "  x: {min: 0.0, max: 1.0}\n  y: {min: 0.0, max: 1.0}\n", "sobol", 3);
    for (int i = 63; i >= 0; i--) { // in any order
        const struct rb_value *v = toy_suggest(&t, i, &arena, &s);
        squares[(int)(v[0].number * 8) * 8 + (int)(v[1].number * 8)]++;
        columns[(int)(v[0].number * 64)]++;
    }
    for (int i = 0; i < 64; i++)
        assert_true(squares[i] == 1 && columns[i] == 1);
    toy_close(&t);
    rb_arena_finish(&arena);
}

static void more_dimensions_than_sobol_has(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf yaml = RB_BUF_INIT;
    struct toy t;
    struct rb_arena arena;
    struct rb_suggestion s;
    double sum = 0;
    for (int i = 0; i < 50; i++)
        rb_buf_printf(&yaml, "  x%d: {min: 0.0, max: 1.0}\n", i);
    rb_arena_init(&arena);
    toy_open(&t, rb_buf_str(&yaml), "sobol", 3);
    for (int i = 0; i < 200; i++)
        sum += toy_suggest(&t, i, &arena, &s)[30].number / 200;
    assert_true(fabs(sum - 0.5) < 0.1);
    toy_close(&t);
    rb_arena_finish(&arena);
}

static void random_is_the_draw_of_the_space(void **state)
{
    (void)state;
    struct toy t;
    struct rb_arena arena;
    struct rb_suggestion s;
    struct rb_value drawn[4];
    rb_arena_init(&arena);
    toy_open(&t, toy_parameters, "random", 9);
    for (int i = 0; i < 50; i++) {
        const struct rb_value *v = toy_suggest(&t, i, &arena, &s);
        rb_space_sample(&t.job.space, 9, (uint32_t)i, drawn);
        for (int j = 0; j < 4; j++)
            assert_true(rb_value_equal(&v[j], &drawn[j]) || drawn[j].kind == RB_VALUE_ABSENT);
    }
    toy_close(&t);
    rb_arena_finish(&arena);
}

// At least one proposal in eight stays random, whatever has been seen, and it is the trial's own draw.
static void some_proposals_stay_random(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_OF(learners); k++) {
        struct toy t;
        struct rb_arena arena;
        struct rb_suggestion s;
        int n_random = 0, n_start = 0;
        rb_arena_init(&arena);
        toy_open(&t, toy_parameters, learners[k], 4);
        for (int i = 0; i < 96; i++) {
            toy_train(&t, i, toy_suggest(&t, i, &arena, &s));
            assert_true(s.reason[0] != '\0');
            n_random += strcmp(s.origin, "random") == 0;
            n_start += strcmp(s.origin, "start") == 0;
        }
        assert_true(n_random >= (96 - n_start) / 8 - 1);
        assert_true(n_start >= 10 && n_start <= 20);
        toy_close(&t);
        rb_arena_finish(&arena);
    }
}

// ---- the same facts, the same proposals

#define N_FACTS 400

struct fact {
    enum { ASKED, BEGAN, REPORTED, CHANGED } kind;
    int trial;
    int64_t resource;
    double score;
    enum rb_seen_state state;
    const struct rb_value *values; // BEGAN
};

// Several trials at a time: they begin, report, pause, resume, diverge and fail in any order.
static int make_facts(struct toy *t, struct rb_arena *arena, struct fact *facts)
{
    struct rb_stream s = test_stream(20, 0);
    int64_t reached[N_FACTS] = {0};
    bool trains[N_FACTS] = {false}, over[N_FACTS] = {false};
    const struct rb_value *values[N_FACTS];
    int n = 0, n_trials = 0;
    while (n < N_FACTS - 3) {
        const int trial = (int)rb_stream_below(&s, (uint64_t)n_trials + 1);
        if (trial == n_trials) {
            struct rb_suggestion suggestion;
            values[trial] = toy_suggest(t, trial, arena, &suggestion);
            facts[n++] = (struct fact){.kind = ASKED, .trial = trial, .values = values[trial]};
            facts[n++] = (struct fact){.kind = BEGAN, .trial = trial, .resource = 1, .values = values[trial]};
            trains[trial] = true;
            n_trials++;
            rb_search_began(t->search, trial, values[trial], 1);
            continue;
        }
        if (over[trial])
            continue;
        const int64_t next = reached[trial] ? reached[trial] * 3 : 1;
        struct fact f = {.kind = CHANGED, .trial = trial, .resource = next};
        const double u = rb_stream_uniform(&s);
        if (!trains[trial]) {
            f.state = RB_SEEN_TRAINS;
            trains[trial] = true;
        } else if (u < 0.05) {
            f.state = RB_SEEN_FAILED;
            over[trial] = true;
        } else {
            f.kind = REPORTED;
            f.score = u < 0.1 ? -INFINITY : toy_score(&t->job.space, values[trial], next);
            reached[trial] = next;
        }
        facts[n++] = f;
        if (f.kind == REPORTED)
            rb_search_reported(t->search, trial, next, f.score, 1 + u);
        else
            rb_search_changed(t->search, trial, f.state, next);
        if (f.kind == REPORTED) {
            over[trial] = next == 9 || !(f.score > -INFINITY);
            trains[trial] = false;
            facts[n++] =
                (struct fact){.kind = CHANGED, .trial = trial, .state = over[trial] ? RB_SEEN_ENDED : RB_SEEN_PAUSED};
            rb_search_changed(t->search, trial, facts[n - 1].state, 0);
        }
    }
    return n;
}

// RB_TEST_SEED apart, the times are made up from the score here and in make_facts alike.
static void feed(struct toy *t, const struct fact *f)
{
    if (f->kind == BEGAN)
        rb_search_began(t->search, f->trial, f->values, f->resource);
    else if (f->kind == REPORTED)
        rb_search_reported(t->search, f->trial, f->resource, f->score, 1);
    else if (f->kind == CHANGED)
        rb_search_changed(t->search, f->trial, f->state, f->resource);
}

static void check_asked(struct toy *t, const struct fact *f, struct rb_arena *arena)
{
    struct rb_suggestion s;
    const struct rb_value *v = toy_suggest(t, f->trial, arena, &s);
    for (int j = 0; j < t->job.space.n_params; j++)
        if (v[j].kind != f->values[j].kind || (v[j].kind != RB_VALUE_ABSENT && !rb_value_equal(&v[j], &f->values[j])))
            fail_msg("trial %d, parameter %d", f->trial, j);
}

static void the_same_facts_give_the_same_proposals(void **state)
{
    (void)state;
    static const char *const all[] = {"bohb", "de", "gp", "random", "sobol", "tpe"};
    for (size_t k = 0; k < N_OF(all); k++) {
        struct toy first, again;
        struct rb_arena arena;
        struct fact facts[N_FACTS];
        rb_arena_init(&arena);
        toy_open(&first, toy_parameters, all[k], 6);
        const int n = make_facts(&first, &arena, facts);
        for (int every = 1; every < 40; every += 12) { // resumed runs ask only some of the questions again
            toy_open(&again, toy_parameters, all[k], 6);
            for (int i = 0; i < n; i++)
                if (facts[i].kind != ASKED)
                    feed(&again, &facts[i]);
                else if (facts[i].trial % every == 0)
                    check_asked(&again, &facts[i], &arena);
            toy_close(&again);
        }
        toy_close(&first);
        rb_arena_finish(&arena);
    }
}

static void what_was_reported_before_counts_once(void **state)
{
    (void)state;
    struct toy t;
    struct rb_arena arena;
    struct rb_suggestion s;
    rb_arena_init(&arena);
    toy_open(&t, toy_parameters, "tpe", 1);
    const struct rb_history *h = rb_search_history(t.search);
    rb_search_began(t.search, 0, toy_suggest(&t, 0, &arena, &s), 1);
    rb_search_reported(t.search, 0, 1, 0.5, 1);
    rb_search_reported(t.search, 0, 2, 0.6, 1); // between levels
    rb_search_reported(t.search, 0, 1, 0.1, 1); // set back to its checkpoint
    assert_int_equal(h->n_results, 1);
    rb_search_reported(t.search, 0, 4, 0.7, 1); // past level 3
    assert_int_equal(h->n_results, 2);
    assert_int_equal(h->results[1].level, 1);
    rb_search_changed(t.search, 0, RB_SEEN_TRAINS, 9);
    rb_search_changed(t.search, 0, RB_SEEN_FAILED, 0);
    assert_int_equal(h->n_results, 3);
    assert_true(h->results[2].level == 2 && !(h->results[2].score > -INFINITY));
    rb_search_reported(t.search, 77, 1, 0.5, 1); // unknown: ignored
    assert_int_equal(h->n_results, 3);
    toy_close(&t);
    rb_arena_finish(&arena);
}

// ---- running trials

static double rugged(double x, double y)
{
    return cos(12 * x) * cos(9 * y) - pow(x - 0.5, 2);
}

// Sixteen trials at once after the same results: with the liar each keeps a distance from those before it.
static double spread(const char *sampler)
{
    double sum = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct toy t;
        struct rb_arena arena;
        struct rb_suggestion s;
        double u[16][4];
        int n = 0;
        rb_arena_init(&arena);
        toy_open(&t, "  x: {min: 0.0, max: 1.0}\n  y: {min: 0.0, max: 1.0}\n  kind: {values: [a, b]}\n", sampler, seed);
        for (int i = 0; i < 28; i++) {
            const struct rb_value *v = toy_suggest(&t, i, &arena, &s);
            rb_search_began(t.search, i, v, 1);
            if (i < 12)
                rb_search_reported(t.search, i, 9, rugged(v[0].number, v[1].number), 1);
            if (i < 12)
                rb_search_changed(t.search, i, RB_SEEN_ENDED, 0);
            else if (strcmp(s.origin, "random") != 0)
                rb_coordinates_of(rb_search_coordinates(t.search), v, u[n++]);
        }
        for (int i = 1; i < n; i++) {
            double nearest = 1;
            for (int j = 0; j < i; j++)
                nearest = fmin(nearest, hypot(u[i][0] - u[j][0], u[i][1] - u[j][1]));
            sum += nearest / (n - 1) / 10;
        }
        toy_close(&t);
        rb_arena_finish(&arena);
    }
    return sum;
}

static void parallel_proposals_differ(void **state)
{
    (void)state;
    static const char *const with[] = {"{type: gp}", "{type: tpe}"};
    static const char *const without[] = {"{type: gp, liar: false}", "{type: tpe, liar: false}"};
    for (size_t i = 0; i < N_OF(with); i++) {
        const double apart = spread(with[i]), closer = spread(without[i]);
        if (!(apart > 1.05 * closer))
            fail_msg("%s: %g, without the liar %g", with[i], apart, closer);
    }
}

// ---- the grid

// 2 x 3 x 2 combinations: each once in twelve trials, in another order by another seed.
static void every_combination_is_proposed_once(void **state)
{
    (void)state;
    int first[2];
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct toy t;
        struct rb_arena arena;
        struct rb_suggestion s;
        bool seen[12] = {false};
        rb_arena_init(&arena);
        toy_open(&t, "  a: {values: [x, y]}\n  b: {min: 1, max: 5, q: 2}\n  c: {min: 3, max: 4}\n", "grid", seed);
        for (int i = 0; i < 12; i++) {
            const struct rb_value *v = toy_suggest(&t, i, &arena, &s);
            const int a = strcmp(v[0].string, "y") == 0, b = ((int)v[1].number - 1) / 2, c = (int)v[2].number - 3;
            assert_true(b >= 0 && b < 3 && (c == 0 || c == 1) && v[1].number == 2 * b + 1);
            assert_false(seen[6 * a + 2 * b + c]);
            seen[6 * a + 2 * b + c] = true;
            first[seed - 1] = i == 0 ? 6 * a + 2 * b + c : first[seed - 1];
            assert_string_equal(s.origin, "grid");
        }
        toy_suggest(&t, 12, &arena, &s);
        assert_string_equal(s.reason, "combination 1 of 12, again");
        toy_close(&t);
        rb_arena_finish(&arena);
    }
    assert_int_not_equal(first[0], first[1]);
}

// ---- costs

// All configurations are equally good, and seconds grow with x: at the start cheap ones are preferred, at the end
// not.
static double mean_x(const char *sampler, double spent)
{
    double sum = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct toy t;
        struct rb_arena arena;
        struct rb_suggestion s;
        rb_arena_init(&arena);
        toy_open(&t, "  x: {min: 0.0, max: 1.0}\n  y: {min: 0.0, max: 1.0}\n", sampler, seed);
        for (int i = 0; i < 30; i++) {
            const struct rb_value *v = toy_suggest(&t, i, &arena, &s);
            rb_search_began(t.search, i, v, 1);
            rb_search_reported(t.search, i, 9, -pow(v[1].number - 0.5, 2), exp(3 * v[0].number));
            rb_search_changed(t.search, i, RB_SEEN_ENDED, 0);
        }
        for (int i = 30; i < 46; i++) {
            const struct rb_ask ask = {.trial = i, .parent = -1, .resource = 1, .budget = 100, .spent = spent};
            rb_search_suggest(t.search, &ask, &arena, &s);
            sum += s.values[0].number / 160;
        }
        toy_close(&t);
        rb_arena_finish(&arena);
    }
    return sum;
}

static void cheap_configurations_come_first(void **state)
{
    (void)state;
    static const char *const samplers[] = {"{type: gp, cost: aware}", "{type: tpe, cost: aware}"};
    for (size_t i = 0; i < N_OF(samplers); i++) {
        const double early = mean_x(samplers[i], 0), late = mean_x(samplers[i], 100);
        if (!(early < late - 0.05))
            fail_msg("%s: mean x %g with the budget, %g at its end", samplers[i], early, late);
    }
    assert_true(mean_x("tpe", 0) == mean_x("{type: tpe, cost: aware}", 100));
}

// ---- options

static void unknown_options_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *sampler, *says;
    } cases[] = {
        {"{type: tpe, lier: false}", "did you mean liar?"}, {"{type: tpe, liar: 3}", "true or false"},
        {"{type: gp, cost: none}", "aware | blind"},        {"{type: de, population: 2}", "from 4 to 1000"},
        {"{type: random, liar: true}", "no such option"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct toy t;
        struct rb_search *s;
        struct rb_err err = {0};
        toy_open(&t, toy_parameters, "random", 1);
        RB_AUTO(rb_buf_finish) struct rb_buf yaml = RB_BUF_INIT;
        rb_buf_printf(&yaml, "sampler: %s\n", cases[i].sampler);
        struct rb_doc doc = parse_yaml(rb_buf_str(&yaml));
        const struct rb_node *node = rb_node_member(doc.root, "sampler");
        static const char *const known[] = {"type", NULL};
        t.job.scheduler.sampler.type = rb_node_member(node, "type")->text;
        assert_true(rb_settings_collect(node, known, &t.arena, &t.job.scheduler.sampler.options, &err));
        assert_false(rb_search_create(&t.job, &s, &err));
        assert_says(&err, cases[i].says);
        assert_int_equal(err.line, 1);
        rb_doc_finish(&doc);
        toy_close(&t);
    }
}

// ---- clones

static void toy_open_pbt(struct toy *t, uint64_t seed)
{
    struct rb_err err;
    toy_open(t, toy_parameters, "random", seed);
    rb_search_destroy(t->search);
    t->job.scheduler.sampler.type = "pbt"; // the reader sets it for scheduler.type: pbt
    assert_true(rb_search_create(&t->job, &t->search, &err));
}

static const struct rb_value *clone(struct toy *t, int trial, int parent, struct rb_arena *arena)
{
    struct rb_suggestion s;
    rb_search_suggest(t->search, &(struct rb_ask){.trial = trial, .parent = parent, .resource = 3}, arena, &s);
    assert_string_equal(s.origin, "pbt");
    return s.values;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-9 * fabs(b);
}

// Of 4000 clones three quarters of each number are 1.2 or 0.8 times the parent's, half of them up; a standard deviation is 30.
static void clones_explore_around_their_parent(void **state)
{
    (void)state;
    enum { CLONES = 4000 };
    struct toy t;
    struct rb_arena arena;
    const struct rb_value parent[4] = {{.kind = RB_VALUE_FLOAT, .number = 0.01},
                                       {.kind = RB_VALUE_INT, .integer = 10, .number = 10},
                                       {.kind = RB_VALUE_STRING, .string = "b"},
                                       {.kind = RB_VALUE_FLOAT, .number = 0.5}};
    int up = 0, down = 0, n_width = 0, kinds[3] = {0}, n_depth = 0;
    rb_arena_init(&arena);
    toy_open_pbt(&t, 5);
    rb_search_began(t.search, 0, parent, 3);
    for (int i = 1; i <= CLONES; i++) {
        const struct rb_value *v = clone(&t, i, 0, &arena);
        up += is_near(v[0].number, 0.012);
        down += is_near(v[0].number, 0.008);
        n_width += v[1].integer == 8 || v[1].integer == 12;
        kinds[v[2].string[0] - 'a']++;
        assert_true((v[3].kind == RB_VALUE_ABSENT) == (v[2].string[0] == 'a'));
        n_depth += v[3].kind != RB_VALUE_ABSENT && (is_near(v[3].number, 0.6) || is_near(v[3].number, 0.4));
    }
    assert_in_range(up, CLONES * 3 / 8 - 150, CLONES * 3 / 8 + 150);
    assert_in_range(down, CLONES * 3 / 8 - 150, CLONES * 3 / 8 + 150);
    assert_in_range(n_width, CLONES * 3 / 4 + CLONES / 64 - 150, CLONES * 3 / 4 + CLONES / 64 + 150);
    for (int k = 0; k < 3; k++)
        assert_in_range(kinds[k], CLONES / 3 - 150, CLONES / 3 + 150);
    assert_in_range(n_depth, CLONES / 2 - 150, CLONES / 2 + 150); // two of three kinds have it
    assert_true(rb_value_equal(&clone(&t, 7, 0, &arena)[0], &clone(&t, 7, 0, &arena)[0]));
    toy_close(&t);
    rb_arena_finish(&arena);
}

// At the ends of the ranges: whole numbers move by one at least, and nothing leaves its range.
static void clones_stay_within_the_space(void **state)
{
    (void)state;
    struct toy t;
    struct rb_arena arena;
    const struct rb_value low[4] = {{.kind = RB_VALUE_FLOAT, .number = 1e-4},
                                    {.kind = RB_VALUE_INT, .integer = 2, .number = 2},
                                    {.kind = RB_VALUE_STRING, .string = "a"},
                                    {.kind = RB_VALUE_ABSENT}};
    const struct rb_value high[4] = {{.kind = RB_VALUE_FLOAT, .number = 1},
                                     {.kind = RB_VALUE_INT, .integer = 32, .number = 32},
                                     {.kind = RB_VALUE_STRING, .string = "c"},
                                     {.kind = RB_VALUE_FLOAT, .number = 0}};
    int n_next = 0, n_zero = 0, n_depth = 0;
    rb_arena_init(&arena);
    toy_open_pbt(&t, 6);
    rb_search_began(t.search, 0, low, 3);
    rb_search_began(t.search, 1, high, 3);
    for (int i = 2; i < 2002; i++) {
        const struct rb_value *v = clone(&t, i, i % 2, &arena);
        assert_true(v[0].number >= 1e-4 && v[0].number <= 1 && v[1].integer >= 1 && v[1].integer <= 32);
        assert_true(v[3].kind == RB_VALUE_ABSENT || (v[3].number >= 0 && v[3].number <= 1));
        n_next += i % 2 == 0 && (v[1].integer == 1 || v[1].integer == 3);
        n_depth += i % 2 == 1 && v[3].kind != RB_VALUE_ABSENT;
        n_zero += i % 2 == 1 && v[3].kind != RB_VALUE_ABSENT && v[3].number < 1e-12;
    }
    assert_in_range(n_next, 700, 850);
    assert_in_range(n_zero, n_depth * 3 / 4 - 60, n_depth * 3 / 4 + 60); // zero is left by a new draw alone
    toy_close(&t);
    rb_arena_finish(&arena);
}

static void every_name_of_a_job_has_a_sampler(void **state)
{
    (void)state;
    for (int i = 0; rb_sampler_names[i]; i++)
        if (!rb_sampler_find(rb_sampler_names[i]))
            fail_msg("%s", rb_sampler_names[i]);
    for (int i = 0; rb_samplers[i]; i++)
        assert_true(rb_samplers[i]->summary[0] != '\0' && rb_samplers[i]->n_rules <= RB_SETTINGS_MAX);
    assert_null(rb_sampler_find("bayes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sampler_that_learns_is_better_than_random),
        cmocka_unit_test(sobol_points_are_a_net),
        cmocka_unit_test(more_dimensions_than_sobol_has),
        cmocka_unit_test(random_is_the_draw_of_the_space),
        cmocka_unit_test(some_proposals_stay_random),
        cmocka_unit_test(the_same_facts_give_the_same_proposals),
        cmocka_unit_test(what_was_reported_before_counts_once),
        cmocka_unit_test(parallel_proposals_differ),
        cmocka_unit_test(every_combination_is_proposed_once),
        cmocka_unit_test(cheap_configurations_come_first),
        cmocka_unit_test(unknown_options_are_refused),
        cmocka_unit_test(clones_explore_around_their_parent),
        cmocka_unit_test(clones_stay_within_the_space),
        cmocka_unit_test(every_name_of_a_job_has_a_sampler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
