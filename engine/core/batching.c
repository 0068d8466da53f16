#include "engine/core/batching.h"

#include "base/arena.h"
#include "profiles/fit/throughput_log.h"
#include "profiles/job/job_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_VAR    1e-6 // as published: gradients without any noise
#define MAX_GROWTH 4    // times the largest timed batch per GPU: beyond, a fit is a guess

// Step times on one accelerator.
struct accelerator {
    const char *name;
    struct rb_throughput_log log;
};

struct known_noise {
    bool known;
    struct rb_grad_noise noise;
};

struct rb_batching {
    const struct rb_profile *profile;
    struct rb_batch_limits limits;
    enum rb_lr_scaling rule;
    struct rb_goodput_batches *batches;
    struct accelerator *accelerators; // that have reported
    int n_accelerators;
    struct known_noise *trials; // by id, as far as any trial has reported
    int n_trials;
};

static enum rb_lr_scaling rule_of(const char *name)
{
    for (int i = 0; name && rb_lr_scaling_names[i]; i++) {
        if (strcmp(rb_lr_scaling_names[i], name) == 0)
            return (enum rb_lr_scaling)i;
    }
    return RB_LR_UNSCALED;
}

static struct rb_batch_limits limits_of(const struct rb_trial_spec *spec)
{
    return (struct rb_batch_limits){.initial = (int)spec->batch_size,
                                    .max = (int)spec->batch_max,
                                    .min_per_gpu = 1,
                                    .max_per_gpu = (int)spec->batch_max_per_gpu};
}

// The smallest total that `gpus` GPUs can train with. With more GPUs than the largest batch (a campaign may ask for
// that, a trial does not): one sample each.
static struct rb_batch smallest(const struct rb_batch_limits *limits, int gpus)
{
    struct rb_batch candidates[RB_N_TOTALS];
    const int n = rb_batch_candidates(limits, gpus, candidates);
    return n > 0 ? candidates[0] : (struct rb_batch){.per_gpu = 1};
}

struct rb_trial_batch rb_batching_initial(const struct rb_job *job, int gpus)
{
    if (job->trial.batch_size == 0)
        return (struct rb_trial_batch){0};
    const struct rb_batch_limits limits = limits_of(&job->trial);
    const struct rb_batch batch = smallest(&limits, gpus);
    const double scale = rb_batch_total(&batch, gpus) / limits.initial;
    return (struct rb_trial_batch){.batch = batch,
                                   .lr_factor = rb_lr_factor(rule_of(job->trial.lr_scaling), NULL, scale)};
}

// NULL: it has not reported yet.
static struct accelerator *find(const struct rb_batching *b, const char *name)
{
    for (int i = 0; i < b->n_accelerators; i++) {
        if (strcmp(b->accelerators[i].name, name) == 0)
            return &b->accelerators[i];
    }
    return NULL;
}

static struct accelerator *find_or_add(struct rb_batching *b, const char *name)
{
    struct accelerator *a = find(b, name);
    if (!a) {
        b->accelerators = rb_xrealloc(b->accelerators, (size_t)b->n_accelerators + 1, sizeof *b->accelerators);
        a = &b->accelerators[b->n_accelerators++];
        *a = (struct accelerator){.name = name};
        rb_throughput_log_init(&a->log);
    }
    return a;
}

struct rb_batching *rb_batching_create(const struct rb_plan *plan)
{
    const struct rb_trial_spec *spec = &plan->job->trial;
    if (spec->batch_size == 0)
        return NULL;
    struct rb_batching *b = rb_xcalloc(1, sizeof *b);
    b->profile = plan->profile;
    b->rule = rule_of(spec->lr_scaling);
    b->limits = limits_of(spec);
    b->batches = rb_goodput_batches_create(&b->limits, spec->max_gpus);
    return b;
}

void rb_batching_destroy(struct rb_batching *b)
{
    if (!b)
        return;
    for (int i = 0; i < b->n_accelerators; i++)
        rb_throughput_log_finish(&b->accelerators[i].log);
    rb_goodput_batches_destroy(b->batches);
    free(b->accelerators);
    free(b->trials);
    free(b);
}

static struct known_noise *noise_at(struct rb_batching *b, int trial)
{
    if (trial >= b->n_trials) {
        const int n = trial >= 2 * b->n_trials ? trial + 1 : 2 * b->n_trials;
        b->trials = rb_xrealloc(b->trials, (size_t)n, sizeof *b->trials);
        memset(b->trials + b->n_trials, 0, (size_t)(n - b->n_trials) * sizeof *b->trials);
        b->n_trials = n;
    }
    return &b->trials[trial];
}

void rb_batching_report(struct rb_batching *b, int trial, const char *accelerator, int nodes, int gpus,
                        const struct rb_trial_batch *with, const struct rb_step_stats *stats)
{
    if (stats->step_s > 0) {
        const struct rb_throughput_sample sample = {.nodes = nodes,
                                                    .gpus = gpus,
                                                    .local_batch = with->batch.per_gpu,
                                                    .accumulation = with->batch.accumulation,
                                                    .step_s = stats->step_s,
                                                    .sync_s = stats->sync_s,
                                                    .sync_unknown = !stats->has_sync};
        rb_throughput_log_add(&find_or_add(b, accelerator)->log, &sample);
    }
    if (stats->has_noise) {
        *noise_at(b, trial) = (struct known_noise){
            .known = true, .noise = {.sqr = fmax(stats->noise.sqr, 0), .var = fmax(stats->noise.var, MIN_VAR)}};
    }
}

// What is known of the time of a step, and up to which batch.
struct known_steps {
    struct rb_throughput throughput;
    double max_local_batch; // largest that was timed; 0: unknown
};

static bool profile_steps(const struct rb_training *t, struct known_steps *out)
{
    if (t && t->has_goodput && t->goodput.has_steps)
        *out = (struct known_steps){t->goodput.steps, t->goodput.max_per_gpu};
    else if (t && t->has_throughput)
        *out = (struct known_steps){t->throughput, 0};
    else
        return false;
    return true;
}

// Local batches of similar size hardly separate the fixed time of a step from the time per sample: until they differ
// enough, a profile that knows both is better.
static bool steps_for(const struct rb_batching *b, const char *accelerator, struct known_steps *out)
{
    const struct accelerator *a = find(b, accelerator);
    const bool known = profile_steps(rb_profile_training(b->profile, accelerator), out);
    if (a && a->log.n > 0 && (!known || rb_throughput_log_separates_batches(&a->log))) {
        *out = (struct known_steps){a->log.fit, a->log.max_local_batch};
        return true;
    }
    return known;
}

static bool noise_for(const struct rb_batching *b, int trial, const char *accelerator, struct rb_grad_noise *out)
{
    const struct rb_training *t = rb_profile_training(b->profile, accelerator);
    if (trial < b->n_trials && b->trials[trial].known) {
        *out = b->trials[trial].noise;
        return true;
    }
    if (!t || !t->has_goodput || !t->goodput.has_noise)
        return false;
    *out = rb_training_goodput_noise(&t->goodput, b->limits.initial);
    return true;
}

bool rb_batching_model(const struct rb_batching *b, int trial, const char *accelerator, struct rb_goodput *out)
{
    struct known_steps steps;
    struct rb_goodput g = {.limits = b->limits, .batches = b->batches};
    if (!steps_for(b, accelerator, &steps) || !noise_for(b, trial, accelerator, &g.noise))
        return false;
    g.throughput = steps.throughput;
    const double most = fmax(MAX_GROWTH * steps.max_local_batch, b->limits.initial);
    if (steps.max_local_batch > 0 && most < g.limits.max_per_gpu) {
        g.limits.max_per_gpu = (int)most;
        g.batches = NULL; // those belong to other limits
    }
    *out = g;
    return true;
}

struct rb_trial_batch rb_batching_choose(const struct rb_batching *b, int trial, const char *accelerator, int nodes,
                                         int gpus)
{
    struct rb_goodput g;
    struct rb_batch batch = smallest(&b->limits, gpus);
    if (rb_batching_model(b, trial, accelerator, &g) && rb_goodput_best(&g, nodes, gpus, &batch) > 0) {
        const struct rb_batch within = rb_batch_within(&b->limits, gpus, batch);
        // If the GPUs do not divide the largest batch, and that is the initial one, rounding up is better.
        batch = rb_batch_total(&within, gpus) >= b->limits.initial ? within : batch;
    }
    struct rb_grad_noise noise;
    const bool known = noise_for(b, trial, accelerator, &noise);
    const double scale = rb_batch_total(&batch, gpus) / b->limits.initial;
    return (struct rb_trial_batch){.batch = batch, .lr_factor = rb_lr_factor(b->rule, known ? &noise : NULL, scale)};
}
