#include "profiles/fit/throughput_log.h"

#include "base/arena.h"
#include "base/limits.h"

#include <math.h>
#include <stdlib.h>

void rb_throughput_log_init(struct rb_throughput_log *log)
{
    *log = (struct rb_throughput_log){0};
}

void rb_throughput_log_finish(struct rb_throughput_log *log)
{
    free(log->samples);
    free(log->n_reports);
    rb_throughput_log_init(log);
}

bool rb_throughput_log_separates_batches(const struct rb_throughput_log *log)
{
    return log->n > 0 && log->max_local_batch >= 2 * log->min_local_batch;
}

static bool is_same(double a, double b)
{
    return fabs(a - b) <= 0;
}

static int find(const struct rb_throughput_log *log, const struct rb_throughput_sample *s)
{
    for (int i = 0; i < log->n; i++) {
        const struct rb_throughput_sample *known = &log->samples[i];
        if (known->nodes == s->nodes && known->gpus == s->gpus && known->accumulation == s->accumulation &&
            is_same(known->local_batch, s->local_batch))
            return i;
    }
    return -1;
}

static void count_in(struct rb_throughput_log *log, int i, const struct rb_throughput_sample *s)
{
    struct rb_throughput_sample *known = &log->samples[i];
    if (known->sync_unknown && !s->sync_unknown) { // this one has more: it begins the means
        *known = *s;
        log->n_reports[i] = 1;
    } else if (known->sync_unknown || !s->sync_unknown) {
        const int n = ++log->n_reports[i];
        known->step_s += (s->step_s - known->step_s) / n;
        known->sync_s += (s->sync_s - known->sync_s) / n;
    }
}

static void append(struct rb_throughput_log *log, const struct rb_throughput_sample *s)
{
    log->samples = rb_grow(log->samples, log->n, sizeof(*log->samples));
    log->n_reports = rb_grow(log->n_reports, log->n, sizeof(*log->n_reports));
    log->samples[log->n] = *s;
    log->n_reports[log->n++] = 1;
    log->max_gpus = s->gpus > log->max_gpus ? s->gpus : log->max_gpus;
    log->min_local_batch = log->n == 1 ? s->local_batch : fmin(log->min_local_batch, s->local_batch);
    log->max_local_batch = fmax(log->max_local_batch, s->local_batch);
}

bool rb_throughput_log_add(struct rb_throughput_log *log, const struct rb_throughput_sample *s)
{
    if (!rb_throughput_sample_is_valid(s))
        return false;
    const int known = find(log, s);
    if (known >= 0) {
        count_in(log, known, s);
        return false;
    }
    if (log->n >= RB_LIMIT_THROUGHPUT_SAMPLES)
        return false;
    append(log, s);
    return rb_throughput_log_refit(log);
}

bool rb_throughput_log_refit(struct rb_throughput_log *log)
{
    struct rb_err err; // valid samples are always fitted
    return log->n > 0 && rb_throughput_fit(log->samples, log->n, &log->fit, &log->error, &err);
}
