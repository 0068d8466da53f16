// From measured runs and iterations to a training model: cells, speed-ups, the throughput model, noise, start-up and
// checkpoint times.
#include "profiles/fit/dist_fit.h"
#include "profiles/store/samples.h"

#include "base/text/buf.h"

#include <math.h>
#include <string.h>

#define LEAST_CONFIGURATION_CV 0.02

static double mean_of(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum / n;
}

static double standard_error(const double *x, int n, double mean)
{
    double sum_sq = 0;
    for (int i = 0; i < n; i++)
        sum_sq += (x[i] - mean) * (x[i] - mean);
    return n > 1 ? sqrt(sum_sq / (n - 1) / n) : 0;
}

static bool same_cell(const struct rb_run_sample *a, const struct rb_run_sample *b)
{
    return a->gpus == b->gpus && a->nodes == b->nodes && strcmp(a->accelerator, b->accelerator) == 0;
}

static int count_configurations(const struct rb_run_sample *runs, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (strcmp(runs[k].config_json, runs[i].config_json) != 0)
            k++;
        count += k == i;
    }
    return count;
}

// Makes one cell from its runs. Every run counts the same, however many units it trained: runs are what varies. With
// one run the error is estimated from the scatter of its units.
static struct rb_fit_cell make_cell(const struct rb_run_sample *runs, int n)
{
    struct rb_fit_cell cell = {
        .accelerator = runs[0].accelerator, .gpus = runs[0].gpus, .nodes = runs[0].nodes, .n_runs = n};
    RB_AUTO(rb_auto_free) double *means = rb_xcalloc((size_t)n, sizeof(*means));
    for (int i = 0; i < n; i++) {
        means[i] = mean_of(runs[i].unit_s, runs[i].n_units);
        cell.n_units += runs[i].n_units;
    }
    cell.n_configurations = count_configurations(runs, n);
    cell.mean_s = mean_of(means, n);
    cell.se_s =
        n > 1 ? standard_error(means, n, cell.mean_s) : standard_error(runs[0].unit_s, runs[0].n_units, cell.mean_s);
    return cell;
}

static void make_cells(const struct rb_samples *s, int *cell_of_run, struct rb_arena *arena,
                       struct rb_fit_report *report)
{
    report->cells = rb_arena_array(arena, (size_t)s->n_runs, sizeof(*report->cells));
    for (int i = 0, n; i < s->n_runs; i += n) {
        for (n = 0; i + n < s->n_runs && same_cell(&s->runs[i], &s->runs[i + n]); n++)
            cell_of_run[i + n] = report->n_cells;
        report->cells[report->n_cells++] = make_cell(&s->runs[i], n);
    }
}

static bool one_gpu_missing(const struct rb_samples *s, const struct rb_fit_cell *cells, int n, struct rb_err *err)
{
    struct rb_buf measured = RB_BUF_INIT;
    for (int i = 0; i < n; i++)
        rb_buf_printf(&measured, "%s%d", i > 0 ? "," : "", cells[i].gpus);
    rb_err_set(err, RB_E_FIT_SAMPLES,
               "profile %s: %s was not measured on 1 GPU, only on %s, so there is nothing to compare with: run "
               "`rbprofile train JOB.yaml --gpus 1,%s`",
               s->profile, cells[0].accelerator, rb_buf_str(&measured), rb_buf_str(&measured));
    rb_buf_finish(&measured);
    return false;
}

// The speed-up table of one accelerator; cells come sorted by nodes, then GPUs, so one GPU on one node is the first.
static bool table_entry(const struct rb_samples *s, const struct rb_fit_cell *cells, int n, struct rb_arena *arena,
                        struct rb_training *out, struct rb_err *err)
{
    if (cells[0].gpus != 1)
        return one_gpu_missing(s, cells, n, err);
    struct rb_layout *layouts = rb_arena_array(arena, (size_t)n, sizeof(*layouts));
    for (int i = 0; i < n; i++)
        layouts[i] = (struct rb_layout){cells[i].gpus, cells[i].nodes, cells[0].mean_s / cells[i].mean_s};
    struct rb_training t = {
        .accelerator = cells[0].accelerator, .base_s = cells[0].mean_s, .layouts = layouts, .n_layouts = n};
    for (int i = 0; i < n; i++) {
        t.max_gpus = cells[i].gpus > t.max_gpus ? cells[i].gpus : t.max_gpus;
        t.max_nodes = cells[i].nodes > t.max_nodes ? cells[i].nodes : t.max_nodes;
    }
    *out = t;
    return true;
}

static bool throughput_entry(const struct rb_throughput_set *set, struct rb_training *out, double *out_error,
                             struct rb_err *err)
{
    struct rb_training t = {.accelerator = set->accelerator,
                            .has_throughput = true,
                            .batch = set->batch,
                            .units_per_epoch = set->units_per_epoch};
    if (!rb_throughput_fit(set->samples, set->n, &t.throughput, out_error, err))
        return rb_err_prefix(err, "accelerator %s", set->accelerator);
    for (int i = 0; i < set->n; i++) {
        t.max_gpus = set->samples[i].gpus > t.max_gpus ? set->samples[i].gpus : t.max_gpus;
        t.max_nodes = set->samples[i].nodes > t.max_nodes ? set->samples[i].nodes : t.max_nodes;
    }
    t.base_s = t.units_per_epoch * rb_throughput_iter_s(&t.throughput, 1, 1, t.batch, 0);
    *out = t;
    return true;
}

static const struct rb_throughput_set *throughput_of(const struct rb_samples *s, const char *accelerator)
{
    for (int i = 0; i < s->n_throughputs; i++)
        if (strcmp(s->throughputs[i].accelerator, accelerator) == 0)
            return &s->throughputs[i];
    return NULL;
}

// One entry per accelerator: the throughput model where iterations were measured, else the speed-up table.
static bool fit_entries(const struct rb_samples *s, struct rb_arena *arena, struct rb_fit_report *report,
                        struct rb_training **out, struct rb_err *err)
{
    struct rb_training *entries = rb_arena_array(arena, (size_t)(s->n_throughputs + report->n_cells), sizeof(*entries));
    int n_entries = 0;
    for (int i = 0; i < s->n_throughputs; i++) {
        double error;
        if (!throughput_entry(&s->throughputs[i], &entries[n_entries++], &error, err))
            return false;
        report->throughput_error = fmax(report->throughput_error, error);
    }
    for (int i = 0, n; i < report->n_cells; i += n) {
        const char *accelerator = report->cells[i].accelerator;
        for (n = 1; i + n < report->n_cells && strcmp(report->cells[i + n].accelerator, accelerator) == 0;)
            n++;
        if (!throughput_of(s, accelerator) && !table_entry(s, &report->cells[i], n, arena, &entries[n_entries++], err))
            return false;
    }
    *out = entries;
    report->profile.training = entries;
    report->profile.n_training = n_entries;
    return true;
}

// A lognormal factor with mean 1. A spread that no distribution of the program supports is an error, not zero.
static bool make_factor(double cv, struct rb_dist *out, struct rb_err *err)
{
    struct rb_dist d = {.kind = RB_DIST_LOGNORMAL, .mean = 1, .cv = cv};
    if (!rb_dist_prepare(&d, err)) {
        return rb_err_set(
            err, RB_E_FIT_SAMPLES,
            "unit times vary too much to plan with (coefficient of variation %.3g, at most 10): were they "
            "too short to be timed one by one? Report every second or so, or more seldom, and measure again",
            cv);
    }
    *out = cv > 0 ? d : rb_dist_constant(1);
    return true;
}

// The first run with the same hyperparameters.
static int configuration_of(const struct rb_samples *s, int run)
{
    int first = 0;
    while (strcmp(s->runs[first].config_json, s->runs[run].config_json) != 0)
        first++;
    return first;
}

// A smaller spread does not matter.
static bool keeps_configurations(const struct rb_noise_fit *noise)
{
    return noise->configuration_cv >= LEAST_CONFIGURATION_CV;
}

static bool make_configuration(const struct rb_noise_fit *noise, struct rb_arena *arena, struct rb_fit_report *report,
                               struct rb_err *err)
{
    struct rb_dist *factor = rb_arena_alloc(arena, sizeof *factor);
    report->profile.configuration = factor;
    return make_factor(noise->configuration_cv, factor, err);
}

static bool fit_noise(const struct rb_samples *s, const int *cell_of_run, struct rb_arena *arena,
                      struct rb_fit_report *report, struct rb_err *err)
{
    int n_units = 0;
    for (int i = 0; i < s->n_runs; i++)
        n_units += s->runs[i].n_units;
    RB_AUTO(rb_auto_free) struct rb_unit_sample *units = rb_xcalloc((size_t)n_units, sizeof(*units));
    for (int i = 0, n = 0; i < s->n_runs; i++) {
        const int configuration = configuration_of(s, i);
        for (int u = 0; u < s->runs[i].n_units; u++)
            units[n++] = (struct rb_unit_sample){
                .cell = cell_of_run[i], .run = i, .configuration = configuration, .unit_s = s->runs[i].unit_s[u]};
    }
    const struct rb_noise_fit *noise = &report->noise;
    return (rb_noise_fit(units, n_units, &report->noise, err) &&
            make_factor(keeps_configurations(noise) ? noise->rest_cv : noise->between_cv, &report->profile.between,
                        err) &&
            make_factor(noise->within_cv, &report->profile.within, err) &&
            (!keeps_configurations(noise) || make_configuration(noise, arena, report, err))) ||
           rb_err_prefix(err, "profile %s", s->profile);
}

// Iterations alone do not show noise in time, but they show how far placements scatter around the model. A trial keeps
// its placement for a stage, so that scatter is the layer between.
static bool noise_from_residuals(const struct rb_samples *s, struct rb_fit_report *report, struct rb_err *err)
{
    double sum_sq = 0;
    int n = 0;
    for (int i = 0; i < s->n_throughputs; i++) {
        const struct rb_throughput *t = &report->profile.training[i].throughput;
        for (int k = 0; k < s->throughputs[i].n; k++, n++) {
            const struct rb_throughput_sample *m = &s->throughputs[i].samples[k];
            const double error = log(m->step_s / rb_throughput_iter_s(t, m->nodes, m->gpus, m->local_batch, 0));
            sum_sq += error * error;
        }
    }
    report->profile.within = rb_dist_constant(1);
    return make_factor(sqrt(expm1(sum_sq / n)), &report->profile.between, err);
}

static bool fit_overheads(const struct rb_samples *s, struct rb_arena *arena, struct rb_fit_report *report,
                          struct rb_err *err)
{
    RB_AUTO(rb_auto_free) double *startup = rb_xcalloc((size_t)s->n_runs, sizeof(*startup));
    RB_AUTO(rb_auto_free) double *checkpoint = rb_xcalloc((size_t)s->n_runs, sizeof(*checkpoint));
    int n_checkpoints = 0, n_startups = 0;
    for (int i = 0; i < s->n_runs; i++) {
        if (!s->runs[i].of_run)
            startup[n_startups++] = s->runs[i].startup_s;
        if (s->runs[i].checkpoint_s >= 0)
            checkpoint[n_checkpoints++] = s->runs[i].checkpoint_s;
    }
    if (!rb_dist_fit_latency(startup, n_startups, arena, &report->startup, err))
        return rb_err_prefix(err, "start-up times of profile %s", s->profile);
    if (n_checkpoints > 0 && !rb_dist_fit_latency(checkpoint, n_checkpoints, arena, &report->checkpoint, err))
        return rb_err_prefix(err, "checkpoint times of profile %s", s->profile);
    return true;
}

static bool fit_dominant(const struct rb_samples *s, const int *cell_of_run, struct rb_arena *arena,
                         struct rb_fit_report *report, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) double *log_deviation = rb_xcalloc((size_t)s->n_runs, sizeof(*log_deviation));
    for (int i = 0; i < s->n_runs; i++) {
        const double mean_s = mean_of(s->runs[i].unit_s, s->runs[i].n_units);
        log_deviation[i] = log(mean_s / report->cells[cell_of_run[i]].mean_s);
    }
    return rb_dominant_fit(s, log_deviation, arena, report, err);
}

// The relative error of a cell's mean, from the pooled noise layers (a single cell has too few runs): root mean square
// over the accelerator's cells. Runs of one configuration share what it keeps, so that part is as sure as there are
// configurations.
static double relative_error(const struct rb_fit_report *report, const char *accelerator)
{
    const double between = report->noise.between_cv, within = report->noise.within_cv;
    const double kept = isnan(report->noise.configuration_cv) ? 0 : report->noise.configuration_cv;
    const int n_runs = report->noise.n_runs, n_units = report->noise.n_units;
    double sum = 0;
    int n = 0;
    for (int i = 0; i < report->n_cells; i++) {
        const struct rb_fit_cell *c = &report->cells[i];
        if (strcmp(c->accelerator, accelerator) == 0) {
            sum += between * between / c->n_runs + within * within / c->n_units +
                   kept * kept * (1.0 / c->n_configurations - 1.0 / c->n_runs);
            n++;
        }
    }
    const int degrees = between > 0 ? n_runs - report->n_cells : n_units - n_runs;
    return n > 0 ? rb_mean_error(sum / n, degrees) : 0;
}

// Measured means are not the true ones, and all trials of a run share the error: predictions include it.
static void fit_errors(struct rb_training *entries, struct rb_fit_report *report)
{
    for (int i = 0; i < report->profile.n_training; i++)
        if (!entries[i].has_throughput)
            entries[i].relative_error = relative_error(report, entries[i].accelerator);
}

static bool fit_runs(const struct rb_samples *s, const int *cell_of_run, struct rb_training *entries,
                     struct rb_arena *arena, struct rb_fit_report *report, struct rb_err *err)
{
    if (!fit_noise(s, cell_of_run, arena, report, err) || !fit_overheads(s, arena, report, err) ||
        !fit_dominant(s, cell_of_run, arena, report, err))
        return false;
    fit_errors(entries, report);
    report->profile.startup_s = report->startup.dist;
    report->profile.checkpoint_s = report->checkpoint.n > 0 ? report->checkpoint.dist : rb_dist_constant(0);
    return true;
}

bool rb_training_fit(const struct rb_samples *s, struct rb_arena *arena, struct rb_fit_report *report,
                     struct rb_err *err)
{
    RB_AUTO(rb_auto_free) int *cell_of_run = rb_xcalloc((size_t)s->n_runs + 1, sizeof(*cell_of_run));
    struct rb_training *entries;
    make_cells(s, cell_of_run, arena, report);
    if (!fit_entries(s, arena, report, &entries, err))
        return false;
    rb_gpu_sharing_fit(s, entries, report->profile.n_training, arena);
    rb_goodput_fit(s, entries, arena, report);
    if (s->n_runs > 0)
        return fit_runs(s, cell_of_run, entries, arena, report, err);
    report->profile.startup_s = rb_dist_constant(0);
    report->profile.checkpoint_s = rb_dist_constant(0);
    return noise_from_residuals(s, report, err);
}
