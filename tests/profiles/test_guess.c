// Profiles made from a guess: their medians, their spread, and what is refused.
#include "profiles/guess/gpu_speeds.h"
#include "profiles/guess/guess.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

static void is_close(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-9 * fabs(b));
}

static struct rb_offer offers[] = {
    {.infra = "aws/us-east-1", .instance_type = "g5.xlarge", .accelerator = "A10G", .gpus = 1},
    {.infra = "aws/us-east-1", .instance_type = "p5.48xlarge", .accelerator = "H100", .gpus = 8},
    {.infra = "aws/us-east-1", .instance_type = "x.large", .accelerator = "Unheard-Of", .gpus = 1},
};
static const struct rb_catalog catalog = {.offers = offers, .n_offers = 3};

static bool make(const char *text, struct rb_arena *arena, struct rb_profile *out, struct rb_err *err)
{
    struct rb_doc doc = {0};
    struct rb_guess guess;
    const char *yaml = rb_guess_yaml(text, arena);
    bool ok =
        rb_doc_parse_yaml(&doc, "--guess", yaml, strlen(yaml), err) && rb_guess_read(doc.root, arena, &guess, err);
    rb_doc_finish(&doc);
    return ok && rb_guess_profile(&guess, "mine", "epoch", &catalog, 1, arena, out, err);
}

static double median(const struct rb_training *t)
{
    return t->base_s / sqrt(1 + t->relative_error * t->relative_error);
}

static double log_sd(const struct rb_training *t)
{
    return sqrt(log1p(t->relative_error * t->relative_error));
}

static void medians_follow_the_relative_speeds(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_profile p;
    struct rb_err err;
    rb_arena_init(&arena);
    assert_true(make("unit=100s,on=A10G,from=own", &arena, &p, &err));
    assert_int_equal(p.n_training, 2); // nothing is known of the third
    is_close(median(&p.training[0]), 100);
    is_close(median(&p.training[1]), 100 * 0.32 / 1.84);
    is_close(log_sd(&p.training[0]), sqrt(0.1 * 0.1 + 0.2 * 0.2));
    is_close(log_sd(&p.training[1]), sqrt(0.1 * 0.1 + 0.2 * 0.2 + 0.25 * 0.25 + 0.12 * 0.12));
    assert_true(make("throughput=50,samples=10000,on=NVIDIA H100,gpus=8,kind=cnn,scaling=8", &arena, &p, &err));
    is_close(median(&p.training[1]), 200 * 8.0);
    is_close(median(&p.training[0]), 200 * 8.0 * 1.76 / 0.4);
    rb_arena_finish(&arena);
}

static void a_wider_guess_never_narrows(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_profile own, published, feeling;
    struct rb_err err;
    rb_arena_init(&arena);
    assert_true(make("unit=1m,on=A10G,from=own", &arena, &own, &err));
    assert_true(make("unit=1m,on=A10G,from=published", &arena, &published, &err));
    assert_true(make("unit=1m,on=A10G", &arena, &feeling, &err));
    for (int i = 0; i < 2; i++) {
        assert_true(own.training[i].relative_error < published.training[i].relative_error);
        assert_true(published.training[i].relative_error < feeling.training[i].relative_error);
        is_close(median(&own.training[i]), median(&feeling.training[i]));
    }
    rb_arena_finish(&arena);
}

// Each pair of GPUs that both have a task measured: the table's mean ratio, with the spread of both, holds that task's ratio.
static void the_spread_covers_tasks_of_the_table(void **state)
{
    (void)state;
    int n = 0, inside = 0;
    for (const struct rb_gpu_speed *a = rb_gpu_speeds; a->name; a++)
        for (const struct rb_gpu_speed *b = a + 1; b->name; b++) {
            const double sd = sqrt(a->log_sd * a->log_sd + b->log_sd * b->log_sd), mean = log(a->mean / b->mean);
            const double tasks[] = {a->resnet50 > 0 && b->resnet50 > 0 ? log(a->resnet50 / b->resnet50) : NAN,
                                    a->bert > 0 && b->bert > 0 ? log(a->bert / b->bert) : NAN};
            for (int i = 0; i < 2; i++)
                if (!isnan(tasks[i])) {
                    n++;
                    inside += fabs(tasks[i] - mean) <= 1.6449 * sd;
                }
        }
    assert_true(n >= 20 && inside >= 0.85 * n);
}

static void the_profile_reads_back(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_profile p, again;
    struct rb_err err;
    struct rb_doc doc = {0};
    struct rb_buf text = RB_BUF_INIT;
    rb_arena_init(&arena);
    assert_true(make("unit=1m,on=A10G", &arena, &p, &err));
    assert_true(p.n_basis >= 3);
    rb_profile_write_yaml(&p, &text);
    if (!rb_doc_parse_yaml(&doc, "profile", rb_buf_str(&text), text.len, &err) ||
        !rb_profile_read(doc.root, NULL, "mine", &arena, &again, &err))
        fail_msg("%s", err.message);
    assert_int_equal(again.n_basis, p.n_basis);
    assert_string_equal(again.basis[0].what, "1 m 0 s for one epoch on 1 A10G");
    is_close(again.training[1].relative_error, p.training[1].relative_error);
    rb_doc_finish(&doc);
    rb_buf_finish(&text);
    rb_arena_finish(&arena);
}

static void as_measured_keeps_the_median(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_profile p, measured;
    struct rb_err err;
    rb_arena_init(&arena);
    assert_true(make("unit=1m,on=A10G", &arena, &p, &err));
    rb_guess_as_measured(&p, &arena, &measured);
    is_close(measured.training[0].base_s, 60);
    assert_int_equal(measured.n_basis, 0);
    rb_arena_finish(&arena);
}

static void wrong_guesses_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"unit=1m",
                                        "on=A10G",
                                        "unit=1m,on=K80",
                                        "unit=1m,samples=3,on=A10G",
                                        "throughput=3,on=A10G",
                                        "unit=1m,on=A10G,from=hearsay",
                                        "unit=1m,on=A10G,gpus=9",
                                        "unit=1m,on=A10G,x=1",
                                        "throughput=1e9,samples=1,on=A10G",
                                        "unit=-1m,on=A10G",
                                        "unit",
                                        ""};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct rb_arena arena;
        struct rb_profile p;
        struct rb_err err = {0};
        rb_arena_init(&arena);
        if (make(wrong[i], &arena, &p, &err) || !err.message[0])
            fail_msg("%s was not refused", wrong[i]);
        if (strstr(wrong[i], "K80"))
            assert_int_equal(err.number, RB_E_GUESS_GPU);
        rb_arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_follow_the_relative_speeds),   cmocka_unit_test(a_wider_guess_never_narrows),
        cmocka_unit_test(the_spread_covers_tasks_of_the_table), cmocka_unit_test(the_profile_reads_back),
        cmocka_unit_test(as_measured_keeps_the_median),         cmocka_unit_test(wrong_guesses_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
