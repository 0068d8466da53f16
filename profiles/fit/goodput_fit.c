// Fits `goodput:` of a profile's training entries from the steps that its runs reported.
#include "profiles/store/samples.h"

#include "profiles/fit/throughput_log.h"

#include <math.h>
#include <string.h>

// The initial batch is that of the latest run: a different one means that the job has changed since.
static bool is_of(const struct rb_run_sample *run, const char *accelerator, double initial_batch)
{
    return run->initial_batch > 0 && strcmp(run->accelerator, accelerator) == 0 &&
           (initial_batch <= 0 || fabs(run->initial_batch - initial_batch) <= 0);
}

static double latest_initial_batch(const struct rb_samples *s, const char *accelerator)
{
    const struct rb_run_sample *latest = NULL;
    for (int i = 0; i < s->n_runs; i++) {
        const struct rb_run_sample *run = &s->runs[i];
        if (is_of(run, accelerator, 0) && (!latest || run->measured_at_us >= latest->measured_at_us))
            latest = run;
    }
    return latest ? latest->initial_batch : 0;
}

static void add_steps(struct rb_throughput_log *log, const struct rb_run_sample *run)
{
    const struct rb_throughput_sample sample = {.nodes = run->nodes,
                                                .gpus = run->gpus,
                                                .local_batch = run->batch.per_gpu,
                                                .accumulation = run->batch.accumulation,
                                                .step_s = run->steps.step_s,
                                                .sync_s = run->steps.sync_s,
                                                .sync_unknown = !run->steps.has_sync};
    if (run->steps.step_s > 0)
        rb_throughput_log_add(log, &sample);
}

static struct rb_fit_goodput *new_report(struct rb_fit_report *report, struct rb_arena *arena)
{
    if (!report->goodputs)
        report->goodputs = rb_arena_array(arena, (size_t)report->profile.n_training, sizeof(*report->goodputs));
    return &report->goodputs[report->n_goodputs++];
}

static void fit_entry(const struct rb_samples *s, struct rb_training *t, struct rb_arena *arena,
                      struct rb_fit_report *report)
{
    struct rb_throughput_log log;
    struct rb_training_goodput g = {.batch = latest_initial_batch(s, t->accelerator)};
    int n_noises = 0;
    if (g.batch <= 0)
        return;
    rb_throughput_log_init(&log);
    for (int i = 0; i < s->n_runs + s->n_probes; i++) {
        const struct rb_run_sample *run = i < s->n_runs ? &s->runs[i] : &s->probes[i - s->n_runs];
        if (!is_of(run, t->accelerator, g.batch))
            continue;
        add_steps(&log, run);
        if (run->steps.has_noise) {
            n_noises++;
            g.noise.sqr += (fmax(run->steps.noise.sqr, 0) - g.noise.sqr) / n_noises;
            g.noise.var += (fmax(run->steps.noise.var, 0) - g.noise.var) / n_noises;
        }
    }
    g.has_noise = n_noises > 0;
    g.has_steps = rb_throughput_log_refit(&log);
    g.steps = log.fit;
    g.max_per_gpu = (int)log.max_local_batch;
    t->has_goodput = g.has_noise || g.has_steps;
    if (t->has_goodput) {
        t->goodput = g;
        *new_report(report, arena) =
            (struct rb_fit_goodput){.accelerator = t->accelerator,
                                    .n_placements = log.n,
                                    .step_error = log.error,
                                    .several_batches = rb_throughput_log_separates_batches(&log),
                                    .n_noises = n_noises};
    }
    rb_throughput_log_finish(&log);
}

void rb_goodput_fit(const struct rb_samples *s, struct rb_training *entries, struct rb_arena *arena,
                    struct rb_fit_report *report)
{
    for (int i = 0; i < report->profile.n_training; i++)
        fit_entry(s, &entries[i], arena, report);
}
