// Fits the throughput model to measured steps: parameters that the samples determine, priors for the others, and the
// best of several descents. Deterministic: fixed starts, no random numbers.
// Source: Pollux (OSDI'21), section 4.1, and the priors of its released fit.
#include "profiles/fit/throughput.h"

#include "base/arena.h"
#include "profiles/fit/throughput_fit_descent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NODE_PENALTY   1.1  // several nodes, never measured, are at least this much slower than one
#define MIN_EXTRA_GPUS 1e-8 // as in the model
#define MAX_SAMPLE_S   1e7  // a step longer than four months is a mistake in the file
#define N_STARTS       5

bool rb_throughput_sample_is_valid(const struct rb_throughput_sample *s)
{
    return s->nodes >= 1 && s->gpus >= s->nodes && s->local_batch > 0 && isfinite(s->local_batch) &&
           s->accumulation >= 0 && s->step_s > 0 && s->step_s <= MAX_SAMPLE_S &&
           (s->sync_unknown || (s->sync_s >= 0 && s->sync_s < s->step_s));
}

static bool check_samples(const struct rb_throughput_sample *samples, int n, struct rb_err *err)
{
    if (n < 1)
        return rb_err_set(err, RB_E_FIT_SAMPLES, "throughput fit: expected at least one sample, got none");
    for (int i = 0; i < n; i++) {
        const struct rb_throughput_sample *s = &samples[i];
        if (!rb_throughput_sample_is_valid(s)) {
            return rb_err_set(
                err, RB_E_FIT_SAMPLES,
                "throughput sample %d: expected nodes >= 1, gpus >= nodes, a positive batch, accumulation "
                ">= 0 and 0 <= sync time < step time <= %g s; got %d nodes, %d GPUs, batch %g, "
                "accumulation %d, sync %g s, step %g s",
                i + 1, MAX_SAMPLE_S, s->nodes, s->gpus, s->local_batch, s->accumulation, s->sync_s, s->step_s);
        }
    }
    return true;
}

// Time of one gradient; a guess to start from if the synchronisation was not measured on several GPUs.
static double grad_s_of(const struct rb_throughput_sample *s)
{
    const double sync_s = !s->sync_unknown ? s->sync_s : s->gpus > 1 ? s->step_s / 4 : 0;
    return (s->step_s - sync_s) / (s->accumulation + 1);
}

static bool knows_grad(const struct rb_throughput_sample *s)
{
    return !s->sync_unknown || s->gpus == 1;
}

// The parameters that the samples determine.
struct coverage {
    bool several_batches, several_nodes, several_gpus_on_one_node, more_than_two_gpus;
    double mean_grad_s, mean_grad_s_per_sample;
    double mean_sync_s[2]; // [0] on one node, [1] over several; 0 where not measured
};

static struct coverage look_at(const struct rb_throughput_sample *samples, int n)
{
    struct coverage c = {0};
    int n_sync[2] = {0, 0};
    for (int i = 0; i < n; i++) {
        const struct rb_throughput_sample *s = &samples[i];
        const double grad_s = grad_s_of(s);
        const bool over_nodes = s->nodes > 1;
        c.several_batches |= fabs(s->local_batch - samples[0].local_batch) > 0;
        c.several_nodes |= over_nodes;
        c.several_gpus_on_one_node |= !over_nodes && s->gpus > 1;
        c.more_than_two_gpus |= s->gpus > 2;
        c.mean_grad_s += grad_s / n;
        c.mean_grad_s_per_sample += grad_s / s->local_batch / n;
        if (s->gpus > 1) {
            c.mean_sync_s[over_nodes] += s->step_s - (s->accumulation + 1) * grad_s;
            n_sync[over_nodes]++;
        }
    }
    for (int k = 0; k < 2; k++)
        c.mean_sync_s[k] /= n_sync[k] > 0 ? n_sync[k] : 1;
    return c;
}

// The free parameters of the search, and its start.
struct search {
    struct rb_fit_problem problem;
    bool fixed[RB_N_FIT_PARAMS];
    double fixed_at[RB_N_FIT_PARAMS];
    int free_params[RB_N_FIT_PARAMS];
};

static void fix(struct search *s, int param, double value)
{
    s->fixed[param] = true;
    s->fixed_at[param] = value;
}

// Parameters that the samples do not determine are fixed, as published.
static void fix_unmeasured(struct search *s, const struct coverage *c)
{
    if (!c->several_batches)
        fix(s, RB_ALPHA_C, fmax(c->mean_grad_s / 2, RB_FIT_FLOOR));
    if (!c->several_nodes) {
        fix(s, RB_ALPHA_N, RB_FIT_FLOOR);
        fix(s, RB_BETA_N, RB_FIT_FLOOR);
    }
    if (!c->several_gpus_on_one_node) {
        fix(s, RB_ALPHA_R, RB_FIT_FLOOR);
        fix(s, RB_BETA_R, RB_FIT_FLOOR);
    }
    if (!c->more_than_two_gpus) {
        fix(s, RB_BETA_N, RB_FIT_FLOOR);
        fix(s, RB_BETA_R, RB_FIT_FLOOR);
    }
    s->problem.free_params = s->free_params;
    for (int i = 0; i < RB_N_FIT_PARAMS; i++)
        if (!s->fixed[i])
            s->free_params[s->problem.n_free++] = i;
}

static struct rb_fit_point *read_points(const struct rb_throughput_sample *samples, int n)
{
    struct rb_fit_point *points = rb_xcalloc((size_t)n, sizeof(*points));
    for (int i = 0; i < n; i++) {
        const struct rb_throughput_sample *s = &samples[i];
        points[i] = (struct rb_fit_point){.local_batch = s->local_batch,
                                          .extra_gpus = fmax(s->gpus - 2, MIN_EXTRA_GPUS),
                                          .sync = s->gpus == 1   ? -1
                                                  : s->nodes > 1 ? RB_ALPHA_N
                                                                 : RB_ALPHA_R,
                                          .accumulation = s->accumulation,
                                          .grad_known = knows_grad(s),
                                          .log_grad_s = log(grad_s_of(s)),
                                          .log_step_s = log(s->step_s)};
    }
    return points;
}

// Start 0 is the published one; the others take their scale from the samples, with more and more overlap.
static void choose_start(const struct coverage *c, int k, double theta[RB_N_FIT_PARAMS])
{
    static const double gammas[N_STARTS] = {1.001, 1.2, 2.0, 4.0, 8.0};
    static const double slope_fracs[N_STARTS] = {0.1, 0.5, 0.1, 0.02, 0.1};
    const double published[RB_N_FIT_PARAMS] = {0.1, 0.01, 0.1, 0.01, 0.1, 0.01, gammas[0]};
    const double scaled[RB_N_FIT_PARAMS] = {
        c->mean_grad_s / 2, c->mean_grad_s_per_sample / 2,      c->mean_sync_s[1], c->mean_sync_s[1] * slope_fracs[k],
        c->mean_sync_s[0],  c->mean_sync_s[0] * slope_fracs[k], gammas[k]};
    for (int i = 0; i < RB_N_FIT_PARAMS; i++)
        theta[i] = fmax(k == 0 ? published[i] : scaled[i], 10 * RB_FIT_FLOOR);
}

static void minimise(const struct search *s, const struct coverage *c, double best[RB_N_FIT_PARAMS])
{
    double best_value = INFINITY;
    for (int k = 0; k < N_STARTS; k++) {
        double theta[RB_N_FIT_PARAMS];
        choose_start(c, k, theta);
        for (int i = 0; i < RB_N_FIT_PARAMS; i++)
            theta[i] = s->fixed[i] ? s->fixed_at[i] : theta[i];
        const double value = rb_throughput_fit_descend(&s->problem, theta);
        if (k == 0 || value < best_value) {
            best_value = value;
            memcpy(best, theta, sizeof(theta));
        }
    }
}

static double mean_relative_error(const struct rb_throughput *t, const struct rb_throughput_sample *samples, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const struct rb_throughput_sample *s = &samples[i];
        sum += fabs(rb_throughput_iter_s(t, s->nodes, s->gpus, s->local_batch, s->accumulation) / s->step_s - 1);
    }
    return sum / n;
}

bool rb_throughput_fit(const struct rb_throughput_sample *samples, int n, struct rb_throughput *out, double *out_error,
                       struct rb_err *err)
{
    if (!check_samples(samples, n, err))
        return false;
    const struct coverage c = look_at(samples, n);
    struct rb_fit_point *points = read_points(samples, n);
    struct search s = {.problem = {.points = points, .n = n}};
    for (int i = 0; i < n; i++)
        s.problem.n_grads += points[i].grad_known;
    fix_unmeasured(&s, &c);
    double theta[RB_N_FIT_PARAMS] = {0};
    minimise(&s, &c, theta);
    free(points);
    *out = (struct rb_throughput){theta[RB_ALPHA_C], theta[RB_BETA_C], theta[RB_ALPHA_N], theta[RB_BETA_N],
                                  theta[RB_ALPHA_R], theta[RB_BETA_R], theta[RB_GAMMA]};
    if (!c.several_nodes) {
        out->alpha_n = fmax(out->alpha_n, NODE_PENALTY * out->alpha_r);
        out->beta_n = fmax(out->beta_n, NODE_PENALTY * out->beta_r);
    }
    *out_error = mean_relative_error(out, samples, n);
    return true;
}
