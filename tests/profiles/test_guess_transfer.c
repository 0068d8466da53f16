// A profile that was measured on one GPU, transferred to others: medians, widths, curves, and what is refused. The width is
// compared with public figures of the same model on two GPUs.
#include "profiles/guess/gpu_speeds.h"
#include "profiles/guess/guess.h"
#include "profiles/guess/guess_library.h"

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

static double median(const struct rb_training *t)
{
    return t->base_s / sqrt(1 + t->relative_error * t->relative_error);
}

static double log_sd(const struct rb_training *t)
{
    return sqrt(log1p(t->relative_error * t->relative_error));
}

static struct rb_offer offers[] = {
    {.infra = "aws/us-east-1", .instance_type = "g5.xlarge", .accelerator = "A10G", .gpus = 1},
    {.infra = "aws/us-east-1", .instance_type = "p5.48xlarge", .accelerator = "H100", .gpus = 8},
    {.infra = "aws/us-east-1", .instance_type = "p3.2xlarge", .accelerator = "V100", .gpus = 1},
    {.infra = "aws/us-east-1", .instance_type = "x.large", .accelerator = "Unheard-Of", .gpus = 1},
};
static const struct rb_catalog catalog = {.offers = offers, .n_offers = 4};
static const struct rb_catalog only_a10g = {.offers = offers, .n_offers = 1};
static const struct rb_catalog only_unheard_of = {.offers = offers + 3, .n_offers = 1};

// Measured on A10G up to four GPUs of one node and on two nodes; on V100, one GPU. Boots were measured for g5.xlarge alone.
static const char profile_text[] =
    "format: rb-profile/1\n"
    "name: mine\n"
    "training:\n"
    "  - accelerator: A10G\n"
    "    base_s: 100\n"
    "    relative_error: 0.02\n"
    "    layouts: [{gpus: 1, nodes: 1, speedup: 1}, {gpus: 4, nodes: 1, speedup: 3}, {gpus: 4, nodes: 2, speedup: 2}]\n"
    "    sharing: [{trials: 2, slowdown: 1.5}]\n"
    "  - {accelerator: V100, base_s: 90, relative_error: 0.3, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}\n"
    "noise: {between: {distribution: lognormal, mean: 1, cv: 0.04}, within: 1}\n"
    "startup_s: {distribution: lognormal, mean: 20, cv: 0.1, relative_error: 0.1}\n"
    "checkpoint_s: 3\n"
    "resumes: false\n"
    "provisioning:\n"
    "  - {infra: aws, instance_type: g5.xlarge, market: \"*\", queue_s: 7, init_s: 30, capacity_failure: 0}\n";

static void read_profile(const char *text, struct rb_arena *arena, struct rb_profile *out)
{
    struct rb_doc doc = {0};
    struct rb_err err;
    if (!rb_doc_parse_yaml(&doc, "profile", text, strlen(text), &err) ||
        !rb_profile_read(doc.root, NULL, "mine", arena, out, &err))
        fail_msg("%s", err.message);
    rb_doc_finish(&doc);
}

static bool transfer(const char *text, const struct rb_profile *measured, const struct rb_catalog *on,
                     struct rb_arena *arena, struct rb_profile *out, struct rb_err *err)
{
    struct rb_doc doc = {0};
    struct rb_guess guess;
    const char *yaml = rb_guess_yaml(text, arena);
    bool ok =
        rb_doc_parse_yaml(&doc, "--guess", yaml, strlen(yaml), err) && rb_guess_read(doc.root, arena, &guess, err);
    rb_doc_finish(&doc);
    return ok && rb_guess_transfer(&guess, measured, on, arena, out, err);
}

static void what_was_measured_stays_and_others_follow(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_profile m, p;
    struct rb_err err;
    rb_arena_init(&arena);
    read_profile(profile_text, &arena, &m);
    assert_true(transfer("measured=A10G", &m, &catalog, &arena, &p, &err));
    assert_int_equal(p.n_training, 3); // nothing is known of the fourth
    const struct rb_training *a10g = rb_profile_training(&p, "A10G"), *h100 = rb_profile_training(&p, "H100");
    const struct rb_training *v100 = rb_profile_training(&p, "V100");
    assert_true(a10g->base_s == 100 && a10g->relative_error == 0.02 && a10g->n_layouts == 3 && a10g->n_sharing == 1);
    assert_true(v100->base_s == 90 && v100->relative_error == 0.3 && !v100->transfer.from);
    is_close(median(h100), 100 / sqrt(1 + 0.02 * 0.02) * 0.32 / 1.84);
    is_close(log_sd(h100), sqrt(0.1 * 0.1 + 0.25 * 0.25 + 0.12 * 0.12 + 0.2 * 0.2));
    assert_string_equal(h100->transfer.from, "A10G");
    is_close(h100->transfer.faster, 1.84 / 0.32);
    is_close(h100->transfer.log_sd, sqrt(0.25 * 0.25 + 0.12 * 0.12));
    assert_string_equal(rb_profile_transferred_from(&p), "A10G");
    assert_null(rb_profile_transferred_from(&m));
    assert_true(p.restarts && p.n_basis == 5);
    is_close(p.startup_s.mean, 20);
    is_close(log1p(p.startup_s.relative_error * p.startup_s.relative_error), 0.25 * 0.25 + log1p(0.1 * 0.1));
    rb_arena_finish(&arena);
}

static void an_uncertain_measurement_stays_uncertain(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_profile m, p;
    struct rb_err err;
    rb_arena_init(&arena);
    read_profile(profile_text, &arena, &m);
    assert_true(transfer("measured=NVIDIA V100,kind=cnn", &m, &catalog, &arena, &p, &err));
    const struct rb_training *h100 = rb_profile_training(&p, "H100");
    is_close(median(h100), 90 / sqrt(1 + 0.3 * 0.3) * 0.53 / 1.76);
    is_close(log_sd(h100), sqrt(log1p(0.3 * 0.3) + 0.4 * 0.4 + 0.12 * 0.12 + 0.2 * 0.2));
    rb_arena_finish(&arena);
}

static void the_curve_is_that_of_one_node(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_profile m, p;
    struct rb_err err;
    double speedup;
    rb_arena_init(&arena);
    read_profile(profile_text, &arena, &m);
    assert_true(transfer("measured=A10G", &m, &catalog, &arena, &p, &err));
    const struct rb_training *h100 = rb_profile_training(&p, "H100");
    assert_true(rb_training_speedup(h100, 4, 1, &speedup, &err));
    is_close(speedup, 3);
    assert_false(rb_training_speedup(h100, 4, 2, &speedup, &err)); // another network
    assert_false(rb_training_speedup(h100, 8, 1, &speedup, &err)); // never measured
    assert_false(rb_training_slowdown(h100, 2, &speedup, &err));
    assert_true(transfer("measured=V100", &m, &catalog, &arena, &p, &err)); // one GPU: the prior's curve
    assert_true(rb_training_speedup(rb_profile_training(&p, "H100"), 8, 1, &speedup, &err));
    is_close(speedup, 6.5);
    rb_arena_finish(&arena);
}

static void machines_are_as_measured_or_priors(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_profile m, p;
    struct rb_err err;
    rb_arena_init(&arena);
    read_profile(profile_text, &arena, &m);
    assert_true(transfer("measured=A10G", &m, &catalog, &arena, &p, &err));
    for (int i = 0; i < 2; i++) {
        const struct rb_provisioning *row =
            rb_profile_provisioning(&p, offers[i].infra, offers[i].instance_type, RB_MARKET_ON_DEMAND);
        assert_non_null(row);
        assert_true((row->queue_s.mean == 7) == (i == 0));
    }
    rb_arena_finish(&arena);
}

static void where_all_was_measured_nothing_is_a_guess(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_profile m, p;
    struct rb_err err;
    rb_arena_init(&arena);
    read_profile(profile_text, &arena, &m);
    assert_true(transfer("measured=A10G", &m, &only_a10g, &arena, &p, &err));
    assert_memory_equal(&p, &m, sizeof p);
    assert_int_equal(p.n_basis, 0);
    rb_arena_finish(&arena);
}

static void it_reads_back(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_profile m, p, again;
    struct rb_err err;
    struct rb_buf text = RB_BUF_INIT;
    rb_arena_init(&arena);
    read_profile(profile_text, &arena, &m);
    assert_true(transfer("measured=A10G", &m, &catalog, &arena, &p, &err));
    rb_profile_write_yaml(&p, &text);
    read_profile(rb_buf_str(&text), &arena, &again);
    const struct rb_training *h100 = rb_profile_training(&again, "H100");
    assert_string_equal(h100->transfer.from, "A10G");
    is_close(h100->transfer.faster, 1.84 / 0.32);
    is_close(log_sd(h100), log_sd(rb_profile_training(&p, "H100")));
    assert_int_equal(again.n_basis, p.n_basis);
    rb_buf_finish(&text);
    rb_arena_finish(&arena);
}

static void as_measured_narrows_only_what_was_not(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_profile m, p, after;
    struct rb_err err;
    rb_arena_init(&arena);
    read_profile(profile_text, &arena, &m);
    assert_true(transfer("measured=A10G", &m, &catalog, &arena, &p, &err));
    rb_guess_as_measured(&p, &arena, &after);
    is_close(rb_profile_training(&after, "A10G")->relative_error, 0.02);
    is_close(rb_profile_training(&after, "H100")->relative_error, 0.05);
    is_close(rb_profile_training(&after, "H100")->base_s, median(rb_profile_training(&p, "H100")));
    assert_null(rb_profile_transferred_from(&after));
    rb_arena_finish(&arena);
}

static void wrong_transfers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        enum rb_err_number number;
    } wrong[] = {
        {"measured=A10H", "did you mean A10G?", RB_E_GUESS_MEASURED},
        {"measured=H100", "profile mine has no times of H100; it has those of A10G, V100", RB_E_GUESS_MEASURED},
        {"measured=A10G,unit=4m", "remove `unit`", RB_E_KEYS_TOGETHER},
        {"measured=A10G,like=resnet50", "remove `like`", RB_E_KEYS_TOGETHER},
        {"measured=A10G,from=own", "remove `from`", RB_E_KEYS_TOGETHER},
        {"measured=A10G,kind=dog", "dog", RB_E_CHOICE},
    };
    struct rb_arena arena;
    struct rb_profile m, p;
    struct rb_err err;
    rb_arena_init(&arena);
    read_profile(profile_text, &arena, &m);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(transfer(wrong[i].text, &m, &catalog, &arena, &p, &err));
        if (!strstr(err.message, wrong[i].says))
            fail_msg("%s: %s", wrong[i].text, err.message);
        assert_int_equal(err.number, wrong[i].number);
    }
    assert_false(transfer("measured=A10G", NULL, &catalog, &arena, &p, &err));
    assert_int_equal(err.number, RB_E_GUESS_MEASURED);
    assert_false(transfer("measured=A10G", &m, &only_unheard_of, &arena, &p, &err));
    assert_int_equal(err.number, RB_E_GUESS_GPU);
    assert_true(transfer("measured=A10G", &m, &catalog, &arena, &p, &err));
    assert_false(transfer("measured=A10G", &p, &catalog, &arena, &m, &err)); // a guess of a guess
    assert_int_equal(err.number, RB_E_GUESS_MEASURED);
    rb_arena_finish(&arena);
}

// One figure of the library as if it had been measured, at the number of GPUs of its row.
static void as_profile(const struct rb_library_figure *f, struct rb_arena *arena, struct rb_profile *out)
{
    struct rb_layout *layouts = rb_arena_array(arena, 2, sizeof *layouts);
    struct rb_training *t = rb_arena_array(arena, 1, sizeof *t);
    layouts[0] = (struct rb_layout){1, 1, 1};
    layouts[1] = (struct rb_layout){f->gpus, 1, 6.5};
    *t = (struct rb_training){.accelerator = f->gpu,
                              .base_s = 6.5 * 1e6 / f->per_second,
                              .layouts = layouts,
                              .n_layouts = 2,
                              .max_gpus = f->gpus,
                              .max_nodes = 1};
    read_profile(profile_text, arena, out);
    out->training = t;
    out->n_training = 1;
}

// Every ordered pair of GPUs for which the library has a figure of the same model, on as many GPUs: the second's figure lies in the
// 90 % that the transfer of the first one says. Too few to measure the width; enough to notice one that is far too narrow.
static void public_figures_of_two_gpus_are_covered(void **state)
{
    (void)state;
    const struct rb_library_model *models;
    struct rb_arena arena;
    struct rb_err err;
    int n_models, n = 0, inside = 0;
    double most = 0;
    rb_arena_init(&arena);
    assert_true(rb_library_read(&arena, &models, &n_models, &err));
    for (int i = 0; i < n_models; i++)
        for (int a = 0; a < models[i].n_figures; a++)
            for (int b = 0; b < models[i].n_figures; b++) {
                const struct rb_library_figure *from = &models[i].figures[a], *to = &models[i].figures[b];
                struct rb_offer offer = {.infra = "x", .instance_type = "y", .accelerator = to->gpu, .gpus = 8};
                const struct rb_catalog market = {.offers = &offer, .n_offers = 1};
                const struct rb_guess guess = {.measured = from->gpu, .kind = models[i].kind};
                struct rb_profile m, p;
                double speedup;
                if (a == b || from->gpus != to->gpus)
                    continue;
                as_profile(from, &arena, &m);
                assert_true(rb_guess_transfer(&guess, &m, &market, &arena, &p, &err));
                assert_true(rb_training_speedup(&p.training[0], to->gpus, 1, &speedup, &err));
                const double off = log(median(&p.training[0]) / speedup * to->per_second / 1e6);
                n++;
                inside += fabs(off) <= 1.6449 * log_sd(&p.training[0]);
                most = fmax(most, fabs(off) / log_sd(&p.training[0]));
                print_message("%s from %s to %s: off by a factor of %.2f, %.2f standard deviations\n", models[i].name,
                              from->gpu, to->gpu, exp(off), off / log_sd(&p.training[0]));
            }
    print_message("%d of %d within 90 %%\n", inside, n);
    assert_int_equal(n, 12);
    assert_true(inside >= 10);
    assert_true(most > 0.5); // nor is it so wide that nothing could lie outside
    rb_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_measured_stays_and_others_follow),
        cmocka_unit_test(an_uncertain_measurement_stays_uncertain),
        cmocka_unit_test(the_curve_is_that_of_one_node),
        cmocka_unit_test(machines_are_as_measured_or_priors),
        cmocka_unit_test(where_all_was_measured_nothing_is_a_guess),
        cmocka_unit_test(it_reads_back),
        cmocka_unit_test(as_measured_narrows_only_what_was_not),
        cmocka_unit_test(wrong_transfers_are_refused),
        cmocka_unit_test(public_figures_of_two_gpus_are_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
