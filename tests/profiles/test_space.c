// The search space: how its YAML is read, what may be drawn from it, and what trials are given.
#include "check.h"

#include "profiles/space/space.h"

struct fixture {
    struct rb_doc doc;
    struct rb_arena arena;
    struct rb_space space;
};

static struct fixture loaded(const char *yaml)
{
    struct fixture f = {.doc = parse_yaml(yaml)};
    struct rb_err err = {0};
    rb_arena_init(&f.arena);
    if (!rb_space_read(f.doc.root, &f.arena, &f.space, &err))
        fail_msg("%s: %s: %s", yaml, err.key, err.message);
    return f;
}

static void unload(struct fixture *f)
{
    rb_arena_finish(&f->arena);
    rb_doc_finish(&f->doc);
}

// --- reading ---

static void test_what_each_form_means(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        enum rb_param_kind kind;
        double min, max, q;
        bool whole;
    } cases[] = {
        {"{distribution: log_uniform, min: 1e-4, max: 1.0e-1}", RB_PARAM_LOG_UNIFORM, 1e-4, 0.1, 0, false},
        {"{min: 16, max: 128, q: 16}", RB_PARAM_Q_UNIFORM, 16, 128, 16, true},
        {"{min: 16.0, max: 128, q: 16}", RB_PARAM_Q_UNIFORM, 16, 128, 16, false},
        {"{min: 1, max: 10}", RB_PARAM_INT_UNIFORM, 1, 10, 0, false},
        {"{min: 1, max: 10.0}", RB_PARAM_UNIFORM, 1, 10, 0, false},
        {"{min: 0.0, max: 0.5}", RB_PARAM_UNIFORM, 0, 0.5, 0, false},
        {"{distribution: uniform, min: 1, max: 10}", RB_PARAM_UNIFORM, 1, 10, 0, false},
        {"{distribution: q_uniform, min: 0.0, max: 0.5, q: 0.1}", RB_PARAM_Q_UNIFORM, 0, 0.5, 0.1, false},
        {"{distribution: int_uniform, min: -5, max: 5}", RB_PARAM_INT_UNIFORM, -5, 5, 0, false},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char yaml[200];
        snprintf(yaml, sizeof yaml, "x: %s", cases[i].yaml);
        struct fixture f = loaded(yaml);
        const struct rb_param *p = &f.space.params[0];
        assert_int_equal(p->kind, cases[i].kind);
        assert_near(p->min, cases[i].min, 1e-15);
        assert_near(p->max, cases[i].max, 1e-15);
        assert_near(p->q, cases[i].q, 1e-15);
        assert_int_equal(p->whole, cases[i].whole);
        unload(&f);
    }
}

static void test_order_and_constants_are_kept(void **state)
{
    (void)state;
    struct fixture f = loaded("z: 100\na: no\nm: 1.0\nb: true\nopt.lr: {values: [sgd, 1, 1.0, false]}\n");
    static const char *const names[] = {"z", "a", "m", "b", "opt.lr"};
    static const int kinds[] = {RB_VALUE_INT, RB_VALUE_STRING, RB_VALUE_FLOAT, RB_VALUE_BOOL};
    assert_int_equal(f.space.n_params, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(f.space.params[i].name, names[i]);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(f.space.params[i].kind, RB_PARAM_CONSTANT);
        assert_int_equal(f.space.params[i].values[0].kind, kinds[i]);
    }
    assert_string_equal(f.space.params[1].values[0].string, "no");
    const struct rb_value *mixed = f.space.params[4].values;
    assert_true(mixed[0].kind == RB_VALUE_STRING && mixed[1].kind == RB_VALUE_INT);
    assert_true(mixed[2].kind == RB_VALUE_FLOAT && mixed[3].kind == RB_VALUE_BOOL);
    unload(&f);
}

static void test_bad_parameters_name_the_key(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *key, *says;
    } cases[] = {
        {"[1, 2]", "", "expected a map"},
        {"x: [1, 2]", "x", "{values: [...]}"},
        {"x:", "x", "expected a number, text, true or false"},
        {"x: {}", "x", "expected `values`, `min` and `max`"},
        {"x: {min: 1}", "x", "expected `values`, `min` and `max`"},
        {"x: {mu: 0, sigma: 1}", "x", "distribution: normal"},
        {"x: {minimum: 1, max: 2}", "x.minimum", "unknown key"},
        {"x: {value: 3}", "x.value", "did you mean \"values\""},
        {"x: {distribution: loguniform, min: 1, max: 2}", "x.distribution", "did you mean \"log_uniform\""},
        {"x: {distribution: log_uniform, min: 0.0, max: 1.0}", "x.min", "values, never exponents"},
        {"x: {distribution: log_uniform, min: -4, max: -1}", "x.min", "values, never exponents"},
        {"x: {distribution: log_uniform, min: 1}", "x.max", "required"},
        {"x: {distribution: int_uniform, min: 1, max: 2.5}", "x.max", "whole number"},
        {"x: {distribution: int_uniform, min: 1.5, max: 2}", "x.min", "whole number"},
        {"x: {distribution: uniform, min: 1, max: 2, q: 1}", "x.q", "q_uniform has steps"},
        {"x: {distribution: uniform, min: 1, max: 2, mu: 1}", "x.mu", "no meaning"},
        {"x: {distribution: normal, mu: 1, sigma: 1, min: 0}", "x.min", "no meaning"},
        {"x: {distribution: normal, mu: 1}", "x.sigma", "required"},
        {"x: {distribution: normal, mu: 1, sigma: 0}", "x.sigma", "above 0"},
        {"x: {distribution: normal, mu: 1, sigma: -1}", "x.sigma", "expected a number"},
        {"x: {distribution: log_normal, mu: 1000, sigma: 1}", "x.mu", "expected a number"},
        {"x: {min: 2, max: 2}", "x.max", "above min"},
        {"x: {min: 3, max: 2}", "x.max", "above min"},
        {"x: {min: 1, max: 2, probabilities: [1]}", "x.probabilities", "without `values`"},
        {"x: {min: 0, max: 10, q: 0}", "x.q", "step above 0"},
        {"x: {min: 0, max: 10, q: 11}", "x.q", "at most max - min"},
        {"x: {min: 0.0, max: 10.0, q: 1.0e-12}", "x.q", "too fine"},
        {"x: {min: 0, max: 1e999}", "", ""},
        {"x: {min: 0, max: 9007199254740993}", "x.max", "expected a number"},
        {"x: {values: []}", "x.values", "expected 1.."},
        {"x: {values: 3}", "x.values", "expected a list"},
        {"x: {values: [1, [2]]}", "x.values[1]", "expected a number, text"},
        {"x: {values: [1, ~]}", "x.values[1]", "expected a number, text"},
        {"x: {values: [1], min: 0}", "x.min", "beside `values`"},
        {"x: {values: [a, b], probabilities: [0.5]}", "x.probabilities", "expected 2 probabilities"},
        {"x: {values: [a, b], probabilities: [0.5, 0.4]}", "x.probabilities", "sum to 1, got 0.9"},
        {"x: {values: [a, b], probabilities: [1.5, -0.5]}", "x.probabilities[0]", "in 0..1"},
        {"x: {flag: false}", "x.flag", "expected `flag: true`"},
        {"x: {flag: 1}", "x.flag", "expected true or false"},
        {"x: {flag: true, min: 0}", "x.min", "beside `flag`"},
        {"x: {flag: true, values: [true, 1]}", "x.values[1]", "true or false beside `flag: true`"},
        {"x: {flag: true, probabilities: [1]}", "x.probabilities", "expected 2 probabilities"},
        {"\"1x\": 3", "1x", "beginning with a letter"},
        {"\"a b\": 3", "a b", "letters, digits"},
        {"\"\": 3", "", "a key is missing"},
        {"x: 9007199254740993", "x", "2^53"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_doc doc = {0};
        struct rb_arena arena;
        struct rb_space space = {.n_params = 42};
        struct rb_err err = {0};
        rb_arena_init(&arena);
        const bool parsed = rb_doc_parse_yaml(&doc, "test.yaml", cases[i].yaml, strlen(cases[i].yaml), &err);
        if (parsed && rb_space_read(doc.root, &arena, &space, &err))
            fail_msg("%s was accepted", cases[i].yaml);
        if (parsed && strcmp(err.key, cases[i].key) != 0)
            fail_msg("%s: expected key %s, got %s: %s", cases[i].yaml, cases[i].key, err.key, err.message);
        assert_int_equal(err.line, 1);
        assert_says(&err, cases[i].says);
        assert_int_equal(space.n_params, 42);
        rb_arena_finish(&arena);
        rb_doc_finish(&doc);
    }
}

// --- drawing ---

#define ALL_LAWS                                                 \
    "u: {min: 0.25, max: 0.75}\n"                                \
    "l: {distribution: log_uniform, min: 1.0e-4, max: 1.0e-1}\n" \
    "n: {distribution: normal, mu: 3, sigma: 0.5}\n"             \
    "g: {distribution: log_normal, mu: -2, sigma: 1}\n"          \
    "i: {min: -2, max: 2}\n"                                     \
    "q: {min: 16, max: 120, q: 16}\n"                            \
    "f: {min: 0.0, max: 0.3, q: 0.1}\n"                          \
    "c: {values: [a, b, c], probabilities: [0.2, 0.0, 0.8]}\n"   \
    "e: {values: [1, 2]}\n"                                      \
    "k: 7\n"
enum { U, L, N, G, I, Q, F, C, E, K, N_LAWS };

static double mean_of(const struct fixture *f, int param, int n, bool logarithm)
{
    double sum = 0;
    for (int t = 0; t < n; t++) {
        struct rb_value v[N_LAWS];
        rb_space_sample(&f->space, 42, (uint32_t)t, v);
        sum += logarithm ? log(v[param].number) : v[param].number;
    }
    return sum / n;
}

static void test_draws_stay_inside_and_have_the_right_means(void **state)
{
    (void)state;
    struct fixture f = loaded(ALL_LAWS);
    const int n = 20000;
    int counts[3] = {0}, ints[5] = {0}, steps[7] = {0}, tenths[4] = {0};
    for (int t = 0; t < n; t++) {
        struct rb_value v[N_LAWS];
        rb_space_sample(&f.space, 42, (uint32_t)t, v);
        assert_true(v[U].number >= 0.25 && v[U].number <= 0.75 && v[L].number >= 1e-4 && v[L].number <= 1e-1);
        assert_true(v[I].kind == RB_VALUE_INT && v[I].integer >= -2 && v[I].integer <= 2);
        assert_true(v[Q].kind == RB_VALUE_INT && v[Q].integer % 16 == 0 && v[Q].integer >= 16 && v[Q].integer <= 112);
        assert_true(v[F].kind == RB_VALUE_FLOAT && v[F].number >= 0 && v[F].number <= 0.3);
        assert_true(v[K].integer == 7);
        ints[v[I].integer + 2]++;
        steps[v[Q].integer / 16 - 1]++;
        tenths[lround(v[F].number * 10)]++;
        counts[v[C].string[0] - 'a']++;
    }
    // Five standard deviations of a binomial or a mean: one false alarm in a million, and the seed is fixed.
    for (int i = 0; i < 5; i++)
        assert_true(abs(ints[i] - n / 5) < 5 * sqrt(n * 0.2 * 0.8));
    for (int i = 0; i < 7; i++)
        assert_true(abs(steps[i] - n / 7) < 5 * sqrt(n / 7.0));
    for (int i = 0; i < 4; i++)
        assert_true(abs(tenths[i] - n / 4) < 5 * sqrt(n / 4.0));
    assert_int_equal(counts[1], 0);
    assert_true(abs(counts[0] - n / 5) < 5 * sqrt(n * 0.2 * 0.8));
    assert_true(fabs(mean_of(&f, U, n, false) - 0.5) < 5 * 0.5 / sqrt(12.0 * n));
    assert_true(fabs(mean_of(&f, L, n, true) - (log(1e-4) + log(1e-1)) / 2) < 5 * log(1e3) / sqrt(12.0 * n));
    assert_true(fabs(mean_of(&f, N, n, false) - 3) < 5 * 0.5 / sqrt(n));
    assert_true(fabs(mean_of(&f, G, n, true) + 2) < 5 * 1.0 / sqrt(n));
    unload(&f);
}

static bool same_value(const struct rb_value *a, const struct rb_value *b)
{
    struct rb_buf x = RB_BUF_INIT, y = RB_BUF_INIT;
    rb_value_text(a, &x);
    rb_value_text(b, &y);
    const bool same = a->kind == b->kind && strcmp(rb_buf_str(&x), rb_buf_str(&y)) == 0;
    rb_buf_finish(&x);
    rb_buf_finish(&y);
    return same;
}

// A trial's configuration depends on its number and the seed; a parameter's on its position, not on what
// follows.
static void test_a_draw_depends_on_its_key_alone(void **state)
{
    (void)state;
    struct fixture f = loaded(ALL_LAWS), shorter = loaded("u: {min: 0.25, max: 0.75}\nl: {min: 1, max: 9}\n");
    struct rb_value first[N_LAWS], again[N_LAWS], other[N_LAWS], prefix[2];
    rb_space_sample(&f.space, 42, 17, first);
    rb_space_sample(&f.space, 42, 18, other);
    rb_space_sample(&f.space, 42, 17, again);
    rb_space_sample(&shorter.space, 42, 17, prefix);
    for (int i = 0; i < N_LAWS; i++)
        assert_true(same_value(&first[i], &again[i]));
    assert_true(same_value(&first[U], &prefix[0]));
    assert_false(same_value(&first[U], &other[U]));
    rb_space_sample(&f.space, 43, 17, other);
    assert_false(same_value(&first[U], &other[U]));
    unload(&f);
    unload(&shorter);
}

// --- grids ---

static void test_grid_is_the_product_in_file_order(void **state)
{
    (void)state;
    struct fixture f = loaded("a: {values: [x, y]}\nb: {min: 1, max: 3}\nc: 5\nd: {min: 0.0, max: 0.2, q: 0.1}\n");
    int64_t n = 0;
    assert_true(rb_space_grid_size(&f.space, &n, NULL));
    assert_int_equal(n, 2 * 3 * 1 * 3);
    for (int64_t point = 0; point < n; point++) {
        struct rb_value v[4];
        rb_space_grid_point(&f.space, point, v);
        assert_string_equal(v[0].string, point / 9 ? "y" : "x");
        assert_int_equal(v[1].integer, 1 + point / 3 % 3);
        assert_int_equal(v[2].integer, 5);
        assert_near(v[3].number, (double)(point % 3) / 10, 1e-15);
    }
    unload(&f);
}

static void test_grid_needs_countable_parameters(void **state)
{
    (void)state;
    int64_t n = 42;
    struct rb_err err = {0};
    struct fixture f = loaded("a: {values: [x, y]}\nlr: {min: 0.0, max: 1.0}\n");
    assert_false(rb_space_grid_size(&f.space, &n, &err));
    assert_says(&err, "RB1205 parameters.lr is continuous");
    assert_int_equal(n, 42);
    unload(&f);
    f = loaded("a: {min: 0, max: 1000000000000}\nb: {min: 0, max: 1000000000000}\n");
    assert_false(rb_space_grid_size(&f.space, &n, &err));
    assert_says(&err, "more than");
    unload(&f);
}

// --- what a trial is given ---

static void test_words_are_safe_for_the_shell(void **state)
{
    (void)state;
    struct fixture f =
        loaded("lr: 0.01\nbatch_size: 64\nwhole: 2.0\nnesterov: true\nopt: sgd\ntext: 'a b; rm -rf $HOME'\n"
               "quote: \"it's\"\nempty: ''\n");
    struct rb_value v[8];
    struct rb_buf args = RB_BUF_INIT, json = RB_BUF_INIT;
    struct rb_json j;
    rb_space_sample(&f.space, 1, 0, v);
    rb_space_args(&f.space, v, &args);
    assert_string_equal(rb_buf_str(&args),
                        "--lr=0.01 --batch_size=64 --whole=2.0 --nesterov=true --opt=sgd '--text=a b; rm -rf $HOME' "
                        "'--quote=it'\\''s' --empty=");
    rb_json_init(&j, &json, false);
    rb_space_json(&f.space, v, &j);
    assert_string_equal(rb_buf_str(&json),
                        "{\"lr\":0.01,\"batch_size\":64,\"whole\":2.0,\"nesterov\":true,\"opt\":\"sgd\","
                        "\"text\":\"a b; rm -rf $HOME\",\"quote\":\"it's\",\"empty\":\"\"}");
    rb_buf_finish(&args);
    rb_buf_finish(&json);
    unload(&f);
}

static void test_a_flag_is_a_word_or_none(void **state)
{
    (void)state;
    struct fixture f =
        loaded("a: {flag: true}\nb: 1\nc: {values: [true], flag: true}\nd-e: {flag: true, "
               "probabilities: [0, 1]}\nf: {values: [true, false], probabilities: [0, 1], flag: true}\n");
    struct rb_value v[5];
    int seen[2] = {0, 0};
    for (uint32_t trial = 0; trial < 64; trial++) {
        struct rb_buf args = RB_BUF_INIT, json = RB_BUF_INIT;
        struct rb_json j;
        rb_space_sample(&f.space, 1, trial, v);
        rb_space_args(&f.space, v, &args);
        rb_json_init(&j, &json, false);
        rb_space_json(&f.space, v, &j);
        seen[v[0].boolean]++;
        assert_string_equal(rb_buf_str(&args), v[0].boolean ? "--a --b=1 --c --d-e" : "--b=1 --c --d-e");
        assert_string_equal(rb_buf_str(&json), v[0].boolean
                                                   ? "{\"a\":true,\"b\":1,\"c\":true,\"d-e\":true,\"f\":false}"
                                                   : "{\"a\":false,\"b\":1,\"c\":true,\"d-e\":true,\"f\":false}");
        rb_buf_finish(&args);
        rb_buf_finish(&json);
    }
    assert_true(seen[0] > 10 && seen[1] > 10);
    unload(&f);
}

// The draws are those of `values: [false, true]` in the same place, and what is written is read as the same.
static void test_a_flag_is_drawn_as_its_values_are(void **state)
{
    (void)state;
    struct fixture flag = loaded("x: {min: 0.0, max: 1.0}\na: {flag: true}\ny: {min: 0.0, max: 1.0}\n"),
                   list = loaded("x: {min: 0.0, max: 1.0}\na: {values: [false, true]}\ny: {min: 0.0, max: 1.0}\n");
    struct rb_buf written = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &written, false);
    rb_space_write(&flag.space, &j);
    struct fixture again = loaded(rb_buf_str(&written));
    assert_true(again.space.params[1].is_flag);
    for (uint32_t trial = 0; trial < 64; trial++) {
        struct rb_value v[3][3];
        rb_space_sample(&flag.space, 7, trial, v[0]);
        rb_space_sample(&list.space, 7, trial, v[1]);
        rb_space_sample(&again.space, 7, trial, v[2]);
        for (int k = 1; k < 3; k++) {
            assert_int_equal(v[0][1].boolean, v[k][1].boolean);
            assert_true(v[0][0].number == v[k][0].number && v[0][2].number == v[k][2].number); // bit for bit
        }
    }
    rb_buf_finish(&written);
    unload(&flag);
    unload(&list);
    unload(&again);
}

// --- conditions ---

static const char conditional[] = "booster: {values: [gbtree, gblinear, dart]}\n"
                                  "depth: {min: 3, max: 9, if: {booster: [gbtree, dart]}}\n"
                                  "drop: {values: [skip, keep], if: {booster: dart}}\n"
                                  "rate: {min: 0.0, max: 0.5, if: {drop: skip}}\n";

static void test_a_parameter_applies_under_its_condition_only(void **state)
{
    (void)state;
    struct fixture f = loaded(conditional);
    bool seen[3] = {false};
    for (uint32_t t = 0; t < 200; t++) {
        struct rb_value v[4];
        RB_AUTO(rb_buf_finish) struct rb_buf args = RB_BUF_INIT;
        rb_space_sample(&f.space, 42, t, v);
        const int booster = strcmp(v[0].string, "gbtree") == 0 ? 0 : strcmp(v[0].string, "gblinear") == 0 ? 1 : 2;
        seen[booster] = true;
        assert_int_equal(v[1].kind == RB_VALUE_ABSENT, booster == 1);
        assert_int_equal(v[2].kind == RB_VALUE_ABSENT, booster != 2);
        assert_int_equal(v[3].kind == RB_VALUE_ABSENT, booster != 2 || strcmp(v[2].string, "skip") != 0);
        rb_space_args(&f.space, v, &args);
        assert_int_equal(strstr(rb_buf_str(&args), "--depth=") != NULL, booster != 1);
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    unload(&f);
}

static void test_conditions_are_written_as_they_were_read(void **state)
{
    (void)state;
    struct fixture f = loaded(conditional);
    RB_AUTO(rb_buf_finish) struct rb_buf first = RB_BUF_INIT, second = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &first, false);
    rb_space_write(&f.space, &j);
    struct fixture g = loaded(rb_buf_str(&first));
    rb_json_init(&j, &second, false);
    rb_space_write(&g.space, &j);
    assert_string_equal(rb_buf_str(&first), rb_buf_str(&second));
    assert_non_null(strstr(rb_buf_str(&first), "\"if\":{\"booster\":[\"gbtree\",\"dart\"]}"));
    unload(&f);
    unload(&g);
}

static void test_conditions_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *key, *says;
    } cases[] = {
        {"a: {values: [x, y], if: {b: x}}\nb: {values: [x]}\n", "a.if.b", "stands before"},
        {"a: {min: 1, max: 2}\nb: {min: 1, max: 2, if: {a: 1}}\n", "b.if.a", "has no `values`"},
        {"a: {values: [x, y]}\nb: {min: 1, max: 2, if: {a: z}}\n", "b.if.a", "z is not among"},
        {"a: {values: [x, y]}\nb: {min: 1, max: 2, if: {}}\n", "b.if", "expected one parameter"},
        {"a: {values: [x, y]}\nb: {min: 1, max: 2, if: [a]}\n", "b.if", "expected one parameter"},
        {"a: {values: [x, y]}\nb: {min: 1, max: 2, if: {a: []}}\n", "b.if.a", "at least one"},
        {"a: {values: [x, y]}\nb: {min: 1, max: 2, if: {a: true}}\n", "b.if.a", "true is not among"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_doc doc = parse_yaml(cases[i].yaml);
        struct rb_arena arena;
        struct rb_space space;
        struct rb_err err = {0};
        rb_arena_init(&arena);
        assert_false(rb_space_read(doc.root, &arena, &space, &err));
        assert_string_equal(err.key, cases[i].key);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].yaml, err.message);
        rb_arena_finish(&arena);
        rb_doc_finish(&doc);
    }
}

// --- configurations of others ---

static bool accepts(struct fixture *f, const char *json, struct rb_err *err)
{
    struct rb_value v[4];
    struct rb_doc doc = parse_yaml(json);
    const bool ok = rb_space_read_values(&f->space, doc.root, &f->arena, v, err);
    rb_doc_finish(&doc);
    return ok;
}

static void test_values_of_others_are_checked(void **state)
{
    (void)state;
    struct fixture f = loaded(conditional);
    static const struct {
        const char *json, *says; // NULL: accepted
    } cases[] = {
        {"{\"booster\": \"gblinear\"}", NULL},
        {"{\"booster\": \"gbtree\", \"depth\": 4}", NULL},
        {"{\"booster\": \"dart\", \"depth\": 9, \"drop\": \"skip\", \"rate\": 0}", NULL},
        {"{\"booster\": \"gbtree\"}", "expected a value of depth"},
        {"{\"booster\": \"gbtree\", \"depth\": 10}", "10 is outside"},
        {"{\"booster\": \"gbtree\", \"depth\": 4.5}", "whole number"},
        {"{\"booster\": \"gbtree\", \"depth\": \"4\"}", "whole number"},
        {"{\"booster\": \"lasso\", \"depth\": 4}", "lasso is outside"},
        {"{\"booster\": \"gblinear\", \"depth\": 4}", "applies here"},
        {"{\"booster\": \"gblinear\", \"other\": 4}", "other is not a parameter"},
        {"[1]", "expected an object"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_err err = {0};
        const bool ok = accepts(&f, cases[i].json, &err);
        if (ok != !cases[i].says)
            fail_msg("%s: %s", cases[i].json, err.message);
        if (!ok && !strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].json, err.message);
    }
    unload(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_each_form_means),
        cmocka_unit_test(test_order_and_constants_are_kept),
        cmocka_unit_test(test_bad_parameters_name_the_key),
        cmocka_unit_test(test_draws_stay_inside_and_have_the_right_means),
        cmocka_unit_test(test_a_draw_depends_on_its_key_alone),
        cmocka_unit_test(test_grid_is_the_product_in_file_order),
        cmocka_unit_test(test_grid_needs_countable_parameters),
        cmocka_unit_test(test_words_are_safe_for_the_shell),
        cmocka_unit_test(test_a_flag_is_a_word_or_none),
        cmocka_unit_test(test_a_flag_is_drawn_as_its_values_are),
        cmocka_unit_test(test_a_parameter_applies_under_its_condition_only),
        cmocka_unit_test(test_conditions_are_written_as_they_were_read),
        cmocka_unit_test(test_conditions_that_cannot_be),
        cmocka_unit_test(test_values_of_others_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
