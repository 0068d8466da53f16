// From samples in the store to the profile that is planned with, and what is said about it.
#include "tests/profiles/store_world.h"

#include "profiles/store/reading.h"

static void add_run(struct world *w, struct rb_store *s, int gpus, int nodes, const char *config, const double *unit_s,
                    int n)
{
    const struct rb_run_sample run = make_run(gpus, nodes, config, unit_s, n);
    assert_ok(rb_store_add_run(s, "cifar", &run, &w->err), &w->err);
}

// Three runs of four units at each of three sizes: 30 s on one GPU, 16 on two, 10 on four; slow and fast runs.
static struct rb_store *store_with_runs(struct world *w)
{
    const struct {
        int gpus;
        double unit_s;
    } cells[] = {{1, 30}, {2, 16}, {4, 10}};
    const double slow[] = {0.95, 1.0, 1.05};
    struct rb_store *s = open_store(w, false);
    for (int c = 0; c < N_OF(cells); c++) {
        for (int r = 0; r < N_OF(slow); r++) {
            const double base = cells[c].unit_s * slow[r];
            const double unit_s[] = {base * 0.9, base * 1.1, base * 0.98, base * 1.02};
            add_run(w, s, cells[c].gpus, 1, "{\"lr\":0.1}", unit_s, 4);
        }
    }
    return s;
}

static struct rb_fit_report fit(struct world *w, struct rb_store *s, const char *name)
{
    struct rb_fit_report report;
    assert_ok(rb_store_fit(s, name, &w->arena, &report, &w->err), &w->err);
    return report;
}

static bool mentions(const char *const *texts, int n, const char *words)
{
    for (int i = 0; i < n; i++) {
        if (strstr(texts[i], words)) {
            return true;
        }
    }
    return false;
}

static void speed_ups_are_over_one_gpu(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    const struct rb_fit_report r = fit(w, s, "cifar");
    const struct rb_training *t = rb_profile_training(&r.profile, "A10G");
    assert_non_null(t);
    assert_close(t->base_s, 30, 1e-9);
    assert_int_equal(t->n_layouts, 3);
    assert_close(t->layouts[0].speedup, 1, 1e-12);
    assert_close(t->layouts[1].speedup, 30.0 / 16, 1e-9);
    assert_close(t->layouts[2].speedup, 3, 1e-9);
    assert_int_equal(r.n_cells, 3);
    assert_int_equal(r.cells[1].n_runs, 3);
    assert_int_equal(r.cells[1].n_units, 12);
    assert_close(r.cells[1].mean_s, 16, 1e-9);
    assert_close(r.cells[1].se_s, 16 * 0.05 / sqrt(3), 1e-9);
    assert_false(r.imported);
    assert_string_equal(r.profile.unit, "epoch");
    rb_store_close(s);
}

static void noise_and_overheads_are_factors_with_mean_one(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    const struct rb_fit_report r = fit(w, s, "cifar");
    assert_close(rb_dist_mean(&r.profile.between), 1, 1e-9);
    assert_close(rb_dist_mean(&r.profile.within), 1, 1e-9);
    assert_close(r.profile.within.cv, 0.084, 0.01); // sd of -10, +10, -2, +2 % over n - 1
    assert_true(r.noise.between_se > 0.01 && r.noise.between_cv < 0.05);
    assert_int_equal(r.startup.n, 9);
    assert_int_equal(r.profile.startup_s.kind, RB_DIST_CONSTANT);
    assert_close(r.profile.startup_s.mean, 8, 1e-12);
    assert_close(r.profile.checkpoint_s.mean, 2, 1e-12);
    rb_store_close(s);
}

static void what_was_not_measured_may_not_be_asked(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    const struct rb_fit_report r = fit(w, s, "cifar");
    assert_true(mentions(r.limits, r.n_limits, "more than 4 GPUs on 1 node"));
    assert_true(mentions(r.limits, r.n_limits, "over more than 1 node"));
    assert_true(mentions(r.limits, r.n_limits, "any accelerator but A10G"));
    assert_true(mentions(r.limits, r.n_limits, "rbprofile provision"));
    assert_true(mentions(r.warnings, r.n_warnings, "rests on 9 runs"));
    double speedup;
    assert_false(rb_training_speedup(r.profile.training, 8, 1, &speedup, &w->err));
    assert_false(rb_training_speedup(r.profile.training, 2, 2, &speedup, &w->err));
    assert_null(rb_profile_training(&r.profile, "V100"));
    rb_store_close(s);
}

// Runs of a job whose batch is tuned, on one and two GPUs, and two with a larger batch made for their steps alone.
static void what_runs_report_of_their_steps_is_fitted(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    const double unit_s[] = {10, 11, 10.5};
    const struct {
        int gpus, per_gpu;
        bool probe;
    } runs[] = {{1, 32, false}, {1, 32, false}, {2, 16, false}, {1, 128, true}, {2, 64, true}};
    for (int i = 0; i < N_OF(runs); i++) {
        struct rb_run_sample run = make_run(runs[i].gpus, 1, "{}", unit_s, 3);
        run.probe = runs[i].probe;
        run.initial_batch = 32;
        run.batch.per_gpu = runs[i].per_gpu;
        run.steps = (struct rb_step_stats){.has_noise = !runs[i].probe,
                                           .noise = {.sqr = 1 + i, .var = 8},
                                           .step_s = 0.02 + 0.001 * runs[i].per_gpu + 0.01 * (runs[i].gpus - 1),
                                           .has_sync = runs[i].gpus > 1,
                                           .sync_s = 0.01};
        assert_ok(rb_store_add_run(s, "cifar", &run, &w->err), &w->err);
    }
    const struct rb_fit_report r = fit(w, s, "cifar");
    const struct rb_training *t = rb_profile_training(&r.profile, "A10G");
    assert_int_equal(r.cells[0].n_runs, 2); // probes say nothing about units
    assert_int_equal(r.cells[1].n_runs, 1);
    assert_int_equal(r.n_goodputs, 1);
    assert_int_equal(r.goodputs[0].n_placements, 4);
    assert_int_equal(r.goodputs[0].n_noises, 3);
    assert_true(r.goodputs[0].several_batches && r.goodputs[0].step_error < 0.01);
    assert_true(t->has_goodput && t->goodput.has_noise && t->goodput.has_steps);
    assert_close(t->goodput.batch, 32, 0);
    assert_close(t->goodput.noise.sqr, 2, 1e-12);
    assert_close(t->goodput.noise.var, 8, 1e-12);
    assert_int_equal(t->goodput.max_per_gpu, 128);
    assert_close(t->goodput.steps.alpha_c, 0.02, 1e-3);
    assert_close(t->goodput.steps.beta_c, 0.001, 1e-5);
    assert_close(rb_training_goodput_noise(&t->goodput, 64).var, 4, 1e-12); // twice the samples, half the trace
    rb_store_close(s);
}

static void without_one_gpu_there_is_nothing_to_compare_with(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    const double unit_s[] = {10, 11};
    struct rb_fit_report r;
    add_run(w, s, 2, 1, "{}", unit_s, 2);
    add_run(w, s, 4, 1, "{}", unit_s, 2);
    assert_false(rb_store_fit(s, "cifar", &w->arena, &r, &w->err));
    assert_int_equal(w->err.code, RB_ERR_INVALID);
    assert_says(&w->err, "A10G was not measured on 1 GPU, only on 2,4");
    assert_says(&w->err, "--gpus 1,2,4");
    rb_store_close(s);
}

static void an_unknown_name_lists_the_known_ones(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    struct rb_profile p;
    assert_false(rb_store_profile(s, "cifra", &w->arena, &p, &w->err));
    assert_int_equal(w->err.code, RB_ERR_NOT_FOUND);
    assert_says(&w->err, "no profile cifra (there is: cifar)");
    assert_says(&w->err, "rbprofile train JOB.yaml");
    assert_says(&w->err, "rbprofile import FILE");
    rb_store_close(s);
}

static void runs_without_a_second_unit_are_refused(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    const double unit_s[] = {10};
    struct rb_fit_report r;
    add_run(w, s, 1, 1, "{}", unit_s, 1);
    add_run(w, s, 1, 1, "{}", unit_s, 1);
    assert_false(rb_store_fit(s, "cifar", &w->arena, &r, &w->err));
    assert_says(&w->err, "profile cifar: noise fit: no run has two units");
    rb_store_close(s);
}

// Batch size decides the time of an epoch; lr has nothing to do with it.
static void add_config(struct world *w, struct rb_store *s, const char *config, double unit_s, double wobble)
{
    const double units[] = {unit_s * (1 + wobble), unit_s * (1 - wobble), unit_s};
    add_run(w, s, 1, 1, config, units, 3);
}

static void a_dominant_hyperparameter_is_named(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    add_config(w, s, "{\"lr\":0.03,\"batch\":64,\"opt\":\"sgd\"}", 40, 0.01);
    add_config(w, s, "{\"lr\":0.001,\"batch\":128,\"opt\":\"adam\"}", 30, 0.01);
    add_config(w, s, "{\"lr\":0.1,\"batch\":256,\"opt\":\"sgd\"}", 15, 0.01);
    add_config(w, s, "{\"lr\":0.01,\"batch\":192,\"opt\":\"adam\"}", 21, 0.01);
    const struct rb_fit_report r = fit(w, s, "cifar");
    assert_non_null(r.dominant_param);
    assert_string_equal(r.dominant_param, "batch");
    assert_true(r.dominant_share > 0.9 && r.dominant_share <= 1);
    assert_true(mentions(r.warnings, r.n_warnings, "hyperparameter batch explains"));
    rb_store_close(s);
}

static void a_dominant_category_is_named(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    const char *models[] = {"small", "large"};
    for (int i = 0; i < 6; i++) {
        char config[80];
        snprintf(config, sizeof(config), "{\"lr\":%d,\"model\":\"%s\"}", (i * 5) % 7, models[i % 2]);
        add_config(w, s, config, (i % 2 ? 40 : 20) + 0.1 * i, 0.01);
    }
    const struct rb_fit_report r = fit(w, s, "cifar");
    assert_string_equal(r.dominant_param ? r.dominant_param : "none", "model");
    rb_store_close(s);
}

static void chance_is_not_a_dominant_hyperparameter(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    // three different texts always explain everything; they must not count. Nor do two configurations.
    add_config(w, s, "{\"opt\":\"a\"}", 30, 0.01);
    add_config(w, s, "{\"opt\":\"b\"}", 33, 0.01);
    assert_null(fit(w, s, "cifar").dominant_param);
    add_config(w, s, "{\"opt\":\"c\"}", 28, 0.01);
    assert_null(fit(w, s, "cifar").dominant_param);
    rb_store_close(s);
}

static void a_spread_too_small_to_matter_is_not_explained(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    for (int i = 1; i <= 5; i++) {
        char config[40];
        snprintf(config, sizeof(config), "{\"batch\":%d}", i);
        add_config(w, s, config, 30 + 0.01 * i, 0.00001);
    }
    assert_null(fit(w, s, "cifar").dominant_param);
    rb_store_close(s);
}

static void add_provision(struct world *w, struct rb_store *s, const char *market, double queue_s, double init_s,
                          const char *outcome)
{
    const struct rb_provision_sample p = {"aws/us-east-1", "g5.xlarge", market, queue_s, init_s, 0, outcome, -1};
    assert_ok(rb_store_add_provision(s, &p, &w->err), &w->err);
}

static void provisioning_is_measured_once_for_all_profiles(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    const double queue_s[] = {15, 18, 22, 17, 25, 16};
    for (int i = 0; i < N_OF(queue_s); i++) {
        add_provision(w, s, "on_demand", queue_s[i], 60 + i, "ok");
    }
    add_provision(w, s, "on_demand", -1, -1, "capacity");
    add_provision(w, s, "on_demand", -1, -1, "timeout");
    const struct rb_fit_report r = fit(w, s, "cifar");
    const struct rb_provisioning *v =
        rb_profile_provisioning(&r.profile, "aws/us-east-1", "g5.xlarge", RB_MARKET_ON_DEMAND);
    assert_non_null(v);
    assert_close(v->capacity_failure, 2.0 / 8, 1e-12);
    assert_close(rb_dist_mean(&v->queue_s), 113.0 / 6, 0.5);
    assert_true(v->has_preemption);
    assert_close(v->preemption_per_hour, 0, 0);
    assert_int_equal(r.provisions[0].queue.n, 6);
    assert_int_equal(r.provisions[0].n_capacity, 1);
    assert_int_equal(r.provisions[0].n_timeout, 1);
    assert_null(rb_profile_provisioning(&r.profile, "aws/us-east-1", "g5.xlarge", RB_MARKET_SPOT));
    assert_null(rb_profile_provisioning(&r.profile, "aws/eu-west-1", "g5.xlarge", RB_MARKET_ON_DEMAND));
    rb_store_close(s);
}

static void pulls_are_kept_as_a_part_of_the_start(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    const double pull_s[] = {20, 24, 0, 22}; // 0: that node had the image, or did not say
    for (int i = 0; i < N_OF(pull_s); i++) {
        const struct rb_provision_sample p = {"k8s/lab", "g2", "on_demand", 5, 30 + i, pull_s[i], "ok", -1};
        assert_ok(rb_store_add_provision(s, &p, &w->err), &w->err);
    }
    const struct rb_fit_report r = fit(w, s, "cifar");
    assert_int_equal(r.provisions[0].init.n, 4);
    assert_int_equal(r.provisions[0].pull.n, 3);
    assert_close(rb_dist_mean(&r.provisions[0].pull.dist), 22, 0.5);
    assert_close(rb_dist_mean(&rb_profile_provisioning(&r.profile, "k8s/lab", "g2", RB_MARKET_ON_DEMAND)->init_s), 31.5, 0.5);
    rb_store_close(s);
}

static void add_reading(struct world *w, struct rb_store *s, const char *fetch, const char *type, int64_t bytes, double read_s)
{
    const struct rb_reading_sample r = {fetch, "aws/us-east-1", type, bytes, read_s, -1};
    assert_ok(rb_store_add_reading(s, "cifar", &r, &w->err), &w->err);
}

static double read_mean_s(const struct rb_profile *p, const char *fetch, const char *type, int64_t bytes)
{
    const struct rb_offer offer = {.infra = "aws/us-east-1", .instance_type = type};
    const struct rb_job job = {.data_fetch = fetch, .data_bytes = bytes};
    return rb_reading_is_known(&job, p, &offer) ? rb_reading_mean_s(&job, p, &offer) : NAN;
}

// By command and machine, scaled to the size of the data; they survive an export and an import.
static void readings_are_of_one_command_and_machine(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    const int64_t gb = 1000000000;
    add_reading(w, s, "sync", "g5.xlarge", 10 * gb, 100);
    add_reading(w, s, "sync", "g5.xlarge", 10 * gb, 120);
    add_reading(w, s, "sync", "g5.xlarge", 20 * gb, 220); // data has grown
    add_reading(w, s, "sync", "p3.2xlarge", 20 * gb, 50);
    add_reading(w, s, "copy", "g5.xlarge", 20 * gb, 7);
    const struct rb_fit_report r = fit(w, s, "cifar");
    assert_int_equal(r.profile.n_readings, 3);
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_profile_write_yaml(&r.profile, &text);
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_profile again;
    assert_ok(rb_doc_parse_yaml(&doc, "export", rb_buf_str(&text), text.len, &w->err), &w->err);
    assert_ok(rb_profile_read(doc.root, NULL, NULL, &w->arena, &again, &w->err), &w->err);
    const struct rb_profile *both[] = {&r.profile, &again};
    for (int i = 0; i < N_OF(both); i++) {
        assert_close(read_mean_s(both[i], "sync", "g5.xlarge", 20 * gb), 220, 5);
        assert_close(read_mean_s(both[i], "sync", "g5.xlarge", 40 * gb), 440, 10);
        assert_close(read_mean_s(both[i], "sync", "p3.2xlarge", 20 * gb), 50, 1e-9);
        assert_close(read_mean_s(both[i], "copy", "g5.xlarge", 20 * gb), 7, 1e-9);
        assert_true(isnan(read_mean_s(both[i], "copy", "p3.2xlarge", 20 * gb)));
        assert_true(isnan(read_mean_s(both[i], "sync --all", "g5.xlarge", 20 * gb)));
    }
    assert_int_equal(again.readings[1].nodes, 3);
    rb_store_close(s);
}

static void add_spot(struct world *w, struct rb_store *s, const char *infra, double hour, int preempted)
{
    const int64_t at_us = (int64_t)(hour * RB_S_PER_HOUR) * RB_US_PER_S;
    assert_ok(rb_store_add_spot(s, infra, "g5.xlarge", at_us, (struct rb_rate){400000}, preempted, &w->err), &w->err);
}

static void spot_preemptions_are_counted_over_watched_hours(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    add_provision(w, s, "spot", 20, 60, "ok");
    struct rb_fit_report r = fit(w, s, "cifar");
    assert_false(r.profile.provisioning[0].has_preemption);
    assert_true(mentions(r.limits, r.n_limits, "spot market: preemptions were not measured"));
    // two zones: 10 hours with 2 losses and 6 hours with 1; the first point of each has no hour before it
    add_spot(w, s, "aws/us-east-1/us-east-1a", 0, 1);
    add_spot(w, s, "aws/us-east-1/us-east-1a", 4, 1);
    add_spot(w, s, "aws/us-east-1/us-east-1a", 10, 1);
    add_spot(w, s, "aws/us-east-1/us-east-1b", 100, 0);
    add_spot(w, s, "aws/us-east-1/us-east-1b", 103, -1); // unknown: does not end the wait
    add_spot(w, s, "aws/us-east-1/us-east-1b", 106, 1);
    add_spot(w, s, "aws/us-west-2", 0, 0); // elsewhere
    add_spot(w, s, "aws/us-west-2", 1, 1);
    r = fit(w, s, "cifar");
    assert_true(r.profile.provisioning[0].has_preemption);
    assert_close(r.profile.provisioning[0].preemption_per_hour, 3.0 / 16, 1e-12);
    assert_close(r.provisions[0].exposure_h, 16, 1e-12);
    assert_int_equal(r.provisions[0].n_preempted, 3);
    rb_store_close(s);
}

static void a_machine_that_never_came_cannot_be_planned_with(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    add_provision(w, s, "on_demand", -1, -1, "capacity");
    const struct rb_fit_report r = fit(w, s, "cifar");
    assert_int_equal(r.profile.n_provisioning, 0);
    assert_true(mentions(r.warnings, r.n_warnings, "no request succeeded"));
    rb_store_close(s);
}

static void iterations_are_fitted_by_the_throughput_model(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    const struct rb_throughput truth = {0.1, 0.01, 0.3, 0.02, 0.05, 0.004, 1.5};
    const int placements[][2] = {{1, 1}, {1, 2}, {1, 4}, {2, 8}, {4, 16}};
    for (int p = 0; p < N_OF(placements); p++) {
        for (double batch = 8; batch <= 32; batch *= 2) {
            const double step_s = rb_throughput_iter_s(&truth, placements[p][0], placements[p][1], batch, 0);
            const struct rb_throughput_sample sample = {placements[p][0], placements[p][1], batch, step_s,
                                                        step_s - rb_throughput_grad_s(&truth, batch)};
            assert_ok(rb_store_add_throughput(s, "bert", "T4", 16, 1000, &sample, &w->err), &w->err);
        }
    }
    const struct rb_fit_report r = fit(w, s, "bert");
    const struct rb_training *t = rb_profile_training(&r.profile, "T4");
    assert_true(t && t->has_throughput);
    assert_true(r.throughput_error >= 0 && r.throughput_error < 0.01);
    assert_int_equal(t->max_gpus, 16);
    assert_int_equal(t->max_nodes, 4);
    assert_close(t->base_s, 1000 * 0.26, 3);
    assert_true(mentions(r.limits, r.n_limits, "more than 16 GPUs or 4 nodes"));
    assert_true(mentions(r.warnings, r.n_warnings, "only iterations were measured"));
    rb_store_close(s);
}

static const char handwritten[] =
    "format: rb-profile/1\n"
    "name: cifar\n"
    "unit: step\n"
    "training:\n"
    "  - accelerator: V100\n"
    "    base_s: 12.5\n"
    "    layouts: [{gpus: 1, nodes: 1, speedup: 1.0}, {gpus: 2, nodes: 1, speedup: 1.8}]\n"
    "noise: {between: 1.0, within: {distribution: lognormal, mean: 1.0, cv: 0.1}}\n"
    "startup_s: 8\n"
    "checkpoint_s: 2\n"
    "provisioning:\n"
    "  - {infra: aws, instance_type: \"*\", market: \"*\", queue_s: 5, init_s: 50,"
    " capacity_failure: 0, preemption_per_hour: 0}\n";

static void put_handwritten(struct world *w, struct rb_store *s)
{
    struct rb_doc doc;
    struct rb_profile p;
    assert_ok(rb_doc_parse_yaml(&doc, "cifar.yaml", handwritten, strlen(handwritten), &w->err), &w->err);
    assert_ok(rb_profile_read(doc.root, NULL, "cifar", &w->arena, &p, &w->err), &w->err);
    assert_ok(rb_store_put_profile(s, &p, &w->err), &w->err);
    rb_doc_finish(&doc);
}

static void an_imported_profile_wins_and_its_provisioning_comes_first(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    add_provision(w, s, "on_demand", 20, 60, "ok");
    put_handwritten(w, s);
    put_handwritten(w, s); // replaces itself
    const struct rb_fit_report r = fit(w, s, "cifar");
    assert_true(r.imported);
    assert_close(r.profile.training[0].base_s, 12.5, 0);
    assert_string_equal(r.profile.unit, "step");
    assert_int_equal(r.profile.n_provisioning, 2);
    const struct rb_provisioning *v =
        rb_profile_provisioning(&r.profile, "aws/us-east-1", "g5.xlarge", RB_MARKET_ON_DEMAND);
    assert_close(rb_dist_mean(&v->queue_s), 5, 1e-12); // its own, not the measured 20
    assert_true(mentions(r.warnings, r.n_warnings, "hides 9 measured runs"));
    struct rb_fit_report samples;
    assert_ok(rb_store_fit_samples(s, "cifar", &w->arena, &samples, &w->err), &w->err);
    assert_false(samples.imported);
    assert_close(samples.profile.training[0].base_s, 30, 1e-9);
    rb_store_close(s);
}

static void write_both(const struct rb_profile *p, struct rb_buf *json, struct rb_buf *yaml)
{
    struct rb_json j;
    rb_json_init(&j, json, false);
    rb_profile_write(p, &j);
    rb_profile_write_yaml(p, yaml);
}

static void an_exported_fit_reads_back_equal(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    add_provision(w, s, "on_demand", 20, 60, "ok");
    add_provision(w, s, "on_demand", 21, 70, "ok");
    struct rb_buf json = RB_BUF_INIT, yaml = RB_BUF_INIT, json2 = RB_BUF_INIT, yaml2 = RB_BUF_INIT;
    struct rb_profile p, back;
    struct rb_doc doc;
    assert_ok(rb_store_profile(s, "cifar", &w->arena, &p, &w->err), &w->err);
    write_both(&p, &json, &yaml);
    assert_ok(rb_doc_parse_yaml(&doc, "x.yaml", yaml.data, yaml.len, &w->err), &w->err);
    assert_ok(rb_profile_read(doc.root, NULL, "x", &w->arena, &back, &w->err), &w->err);
    rb_doc_finish(&doc);
    write_both(&back, &json2, &yaml2);
    assert_string_equal(json.data, json2.data);
    assert_string_equal(yaml.data, yaml2.data);
    rb_buf_finish(&json);
    rb_buf_finish(&yaml);
    rb_buf_finish(&json2);
    rb_buf_finish(&yaml2);
    rb_store_close(s);
}

static void importing_a_source_again_replaces_it(void **state)
{
    struct world *w = *state;
    struct rb_store *s = store_with_runs(w);
    for (int i = 0; i < 2; i++) {
        rb_store_stamp(s, i, "a.csv");
        assert_ok(rb_store_forget(s, NULL, "a.csv", &w->err), &w->err);
        add_provision(w, s, "on_demand", 20 + i, 60, "ok");
        rb_store_stamp(s, i, "b.csv");
        add_provision(w, s, "on_demand", 30, 60, "ok");
    }
    assert_int_equal(fit(w, s, "cifar").provisions[0].queue.n, 3); // one from a.csv, two from b.csv
    rb_store_close(s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(speed_ups_are_over_one_gpu),
        TEST(noise_and_overheads_are_factors_with_mean_one),
        TEST(what_was_not_measured_may_not_be_asked),
        TEST(what_runs_report_of_their_steps_is_fitted),
        TEST(without_one_gpu_there_is_nothing_to_compare_with),
        TEST(an_unknown_name_lists_the_known_ones),
        TEST(runs_without_a_second_unit_are_refused),
        TEST(a_dominant_hyperparameter_is_named),
        TEST(a_dominant_category_is_named),
        TEST(chance_is_not_a_dominant_hyperparameter),
        TEST(a_spread_too_small_to_matter_is_not_explained),
        TEST(provisioning_is_measured_once_for_all_profiles),
        TEST(pulls_are_kept_as_a_part_of_the_start),
        TEST(readings_are_of_one_command_and_machine),
        TEST(spot_preemptions_are_counted_over_watched_hours),
        TEST(a_machine_that_never_came_cannot_be_planned_with),
        TEST(iterations_are_fitted_by_the_throughput_model),
        TEST(an_imported_profile_wins_and_its_provisioning_comes_first),
        TEST(an_exported_fit_reads_back_equal),
        TEST(importing_a_source_again_replaces_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
