// Freeze-thaw: every trial pauses at each level. Then the trial goes on, or a new one begins, whose score at max_resource
// promises the largest improvement on the best that is expected now (engine/tuners/level_model.h). Levels are those of
// asha. The search ends when `units` are used; the last of them train the most promising trial to max_resource.
// Source: Swersky, Snoek, Adams, "Freeze-thaw Bayesian optimization", arXiv:1406.3896. This project's own: the share of
// new trials is limited, because the model takes a new configuration for an average one and the sampler does not.
#include "engine/tuners/level_model.h"

#include "base/arena.h"
#include "base/normal.h"
#include "base/order.h"
#include "engine/tuners/brackets.h"
#include "engine/tuners/tuners.h"

#include <math.h>
#include <stdlib.h>

enum { RULE_UNITS, RULE_NEW, N_RULES };

static const struct rb_setting_rule rules[N_RULES] = {
    [RULE_UNITS] = {.key = "units", .kind = RB_SETTING_INT, .min = 0, .max = 1e12, .fallback = 0,
                    .summary = "units that all trials train together; 0: as many as asha's rungs would"},
    [RULE_NEW] = {.key = "new_share", .kind = RB_SETTING_NUMBER, .min = 0, .max = 1, .fallback = 0.5,
                  .summary = "of all units, for the first steps of new trials"},
};

#define REFIT_GROWTH 1.2  // the model is fitted again when the number of scores has grown by this factor
#define WORST        (-4) // scores farther below the median, in standard deviations, count as this
#define MOST_TRIALS  10000 // all of them are compared at each step

struct trial {
    bool trains, ended; // ended: at R, or it never trains again
    int n;              // levels with a score
    int64_t resource;   // where it was paused
    double expected;    // its score at R by the model, scaled as there; where n > 0 and the model is fitted
};

struct freeze_thaw {
    struct rb_levels levels;
    int max_trials, n_trials, n_training;
    double new_share;
    int64_t units, used, used_new; // handed out
    struct trial *trials;          // [max_trials]
    double *scores;                // [max_trials * levels.n]
    int n_scores, fitted_at;
    double median, scale;          // of the scores when the model was fitted
    struct rb_level_model model;
    bool any_at_end;               // a trial has got to R
    bool closed_new, closed_all;
    int handed;                    // what a group points to
};

static bool freeze_thaw_stages(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    if (job->scheduler.num_trials > MOST_TRIALS)
        return rb_err_set_at(err, RB_E_OUT_OF_RANGE, (struct rb_place){0}, "scheduler.num_trials",
                             "expected at most %d under freeze_thaw, which compares all trials at each step; got %d",
                             MOST_TRIALS, job->scheduler.num_trials);
    return rb_tuner_asha.stages(job, out, err);
}

static bool freeze_thaw_overlaps(const struct rb_scheduler *s)
{
    (void)s;
    return true;
}

static int64_t units_of_asha(const struct rb_job *job)
{
    struct rb_rung_table table;
    int64_t units = 0;
    if (!rb_tuner_asha.stages(job, &table, NULL))
        return 0; // it has no errors
    for (int i = 0; i < table.n; i++)
        units += table.rungs[i].trials * (table.rungs[i].resource_end - table.rungs[i].resource_start);
    return units;
}

static bool freeze_thaw_create(const struct rb_job *job, void **out_state, struct rb_err *err)
{
    double options[RB_SETTINGS_MAX];
    if (!rb_tuner_options(&rb_tuner_freeze_thaw, &job->scheduler, options, err))
        return false;
    struct freeze_thaw *f = rb_xcalloc(1, sizeof *f);
    rb_levels_of(&job->scheduler, &f->levels);
    f->max_trials = job->scheduler.num_trials;
    f->new_share = options[RULE_NEW];
    f->units = options[RULE_UNITS] > 0 ? (int64_t)options[RULE_UNITS] : units_of_asha(job);
    f->trials = rb_xcalloc((size_t)f->max_trials, sizeof *f->trials);
    f->scores = rb_xcalloc((size_t)f->max_trials * (size_t)f->levels.n, sizeof *f->scores);
    *out_state = f;
    return true;
}

static void freeze_thaw_destroy(void *state)
{
    struct freeze_thaw *f = state;
    if (!f)
        return;
    free(f->trials);
    free(f->scores);
    free(f);
}

static double *scores_of(const struct freeze_thaw *f, int trial)
{
    return &f->scores[(size_t)trial * (size_t)f->levels.n];
}

// ---- the model

// Scores have no unit that is known, and losses of bad trials may be of any size: they count by their distance from the
// median in standard deviations of the better half.
static void find_scale(struct freeze_thaw *f)
{
    double *sorted = rb_xcalloc((size_t)f->n_scores + 1, sizeof *sorted), sum = 0;
    int n = 0;
    for (int i = 0; i < f->n_trials; i++)
        for (int k = 0; k < f->trials[i].n; k++)
            sorted[n++] = scores_of(f, i)[k];
    qsort(sorted, (size_t)n, sizeof *sorted, rb_order_doubles);
    f->median = n > 0 ? sorted[n / 2] : 0;
    for (int i = n / 2; i < n; i++)
        sum += (sorted[i] - f->median) * (sorted[i] - f->median);
    f->scale = n > 0 ? sqrt(sum / (n - n / 2)) : 0;
    free(sorted);
}

static int scaled_scores(const struct freeze_thaw *f, int trial, double *out)
{
    const double *scores = scores_of(f, trial);
    for (int k = 0; k < f->trials[trial].n; k++)
        out[k] = f->scale > 0 ? fmax(WORST, (scores[k] - f->median) / f->scale) : 0;
    return f->trials[trial].n;
}

static void expect(struct freeze_thaw *f, int trial)
{
    double scaled[RB_LIMIT_STAGES];
    const int n = scaled_scores(f, trial, scaled);
    f->trials[trial].expected = rb_level_model_expect(&f->model, scaled, n);
}

static void fit(struct freeze_thaw *f)
{
    double *scaled = rb_xcalloc((size_t)f->n_scores + 1, sizeof *scaled), *at = scaled;
    struct rb_level_curve *curves = rb_xcalloc((size_t)f->n_trials + 1, sizeof *curves);
    find_scale(f);
    for (int i = 0; i < f->n_trials; i++) {
        curves[i] = (struct rb_level_curve){at, scaled_scores(f, i, at)};
        at += curves[i].n;
    }
    rb_level_model_fit(&f->model, f->levels.resource, f->levels.n, curves, f->n_trials);
    f->fitted_at = f->n_scores;
    for (int i = 0; i < f->n_trials; i++)
        expect(f, i);
    free(scaled);
    free(curves);
}

// Of a trial, or of what a new one may become, on the best; its distance is known exactly where sd is 0.
static double log_improvement(double expected, double sd, double best)
{
    if (sd > 0)
        return rb_log_expected_improvement(expected, sd, best);
    return expected > best ? log(expected - best) : -INFINITY;
}

// ---- the choice

static int64_t step_of(const struct freeze_thaw *f, int trial)
{
    const struct trial *t = &f->trials[trial];
    return f->levels.resource[t->n] - t->resource;
}

static bool may_begin_new(const struct freeze_thaw *f)
{
    return !f->closed_new && f->n_trials < f->max_trials;
}

static bool waits(const struct trial *t)
{
    return !t->trains && !t->ended;
}

// The trial that is expected to be the best at R, whether it waits, trains or is there; -1: none has a score.
static int most_promising(const struct freeze_thaw *f)
{
    int best = -1;
    double most = -INFINITY;
    for (int i = 0; i < f->n_trials; i++) {
        const struct trial *t = &f->trials[i];
        if (t->n > 0 && t->expected > most) {
            most = t->expected;
            best = i;
        }
    }
    return best;
}

static bool new_trial_is_due(const struct freeze_thaw *f, int64_t left)
{
    const int64_t first = f->levels.resource[0];
    return may_begin_new(f) && left >= first &&
           (f->n_scores == 0 || (double)(f->used_new + first) <= f->new_share * (double)(f->used + first));
}

// The largest expected improvement on `best` that the units left can pay the next step of. -1: none; n_trials: a new one.
static int choose_among(const struct freeze_thaw *f, int best, int64_t left)
{
    int chosen = new_trial_is_due(f, left) ? f->n_trials : -1;
    if (best < 0)
        return chosen;
    const double best_score = f->trials[best].expected;
    double most = log_improvement(f->model.mean[f->levels.n - 1], f->model.sd[0], best_score);
    for (int i = 0; i < f->n_trials; i++) {
        if (!waits(&f->trials[i]) || step_of(f, i) > left)
            continue;
        const double value = log_improvement(f->trials[i].expected, f->model.sd[f->trials[i].n], best_score);
        if (chosen < 0 || value > most) {
            most = value;
            chosen = i;
        }
    }
    return chosen;
}

// The last units belong to the most promising trial as soon as it needs all of them to get to R. The first to get there
// may use more than there are.
static int choose(const struct freeze_thaw *f)
{
    const int64_t left = f->units - f->used;
    const int best = most_promising(f), chosen = choose_among(f, best, left);
    if (best < 0 || !waits(&f->trials[best]))
        return chosen;
    const int64_t rest = f->levels.resource[f->levels.n - 1] - f->trials[best].resource;
    const bool is_last = left - (chosen >= 0 ? step_of(f, chosen) : 0) < rest;
    return is_last && (!f->any_at_end || step_of(f, best) <= left) ? best : chosen;
}

static enum rb_tuner_next freeze_thaw_next(void *state, struct rb_group *out)
{
    struct freeze_thaw *f = state;
    if (f->n_scores > 0 && (f->fitted_at == 0 || f->n_scores >= REFIT_GROWTH * f->fitted_at))
        fit(f);
    const int id = f->closed_all ? -1 : choose(f);
    if (id < 0)
        return f->n_training > 0 ? RB_TUNER_WAIT : RB_TUNER_DONE;
    struct trial *t = &f->trials[id];
    const int64_t step = step_of(f, id);
    if (id == f->n_trials) {
        f->n_trials++;
        f->used_new += step;
    }
    f->used += step;
    f->n_training++;
    t->trains = true;
    f->handed = id;
    *out = (struct rb_group){.stage = t->n,
                             .trials = &f->handed,
                             .n_trials = 1,
                             .resource_start = t->resource,
                             .resource_end = f->levels.resource[t->n]};
    return RB_TUNER_GROUP;
}

// New trials may begin while there are units for them.
static int freeze_thaw_phase(const void *state)
{
    const struct freeze_thaw *f = state;
    if (may_begin_new(f) && !f->closed_all && f->units - f->used >= f->levels.resource[0])
        return 0;
    int lowest = f->levels.n - 1;
    for (int i = 0; i < f->n_trials; i++) {
        const struct trial *t = &f->trials[i];
        if (t->n < lowest && (t->trains || (waits(t) && !f->closed_all)))
            lowest = t->n;
    }
    return lowest;
}

static void freeze_thaw_ended(void *state, int id, int64_t resource, double score)
{
    struct freeze_thaw *f = state;
    struct trial *t = id >= 0 && id < f->n_trials ? &f->trials[id] : NULL;
    if (!t || !t->trains)
        return;
    t->trains = false;
    f->n_training--;
    f->used -= f->levels.resource[t->n] > resource && score > -INFINITY ? f->levels.resource[t->n] - resource : 0;
    t->resource = resource;
    if (!(score > -INFINITY)) {
        t->ended = true;
        return;
    }
    while (t->n < f->levels.n && resource >= f->levels.resource[t->n]) {
        scores_of(f, id)[t->n++] = score;
        f->n_scores++;
    }
    if (f->fitted_at > 0)
        expect(f, id);
    t->ended = t->n == f->levels.n;
    f->any_at_end = f->any_at_end || t->ended;
}

static void freeze_thaw_close(void *state, enum rb_tuner_close what)
{
    struct freeze_thaw *f = state;
    f->closed_new = true;
    f->closed_all = f->closed_all || what == RB_CLOSE_ALL;
}

const struct rb_tuner rb_tuner_freeze_thaw = {
    .name = "freeze_thaw",
    .on_demand = true,
    .rules = rules,
    .n_rules = N_RULES,
    .stages = freeze_thaw_stages,
    .overlaps = freeze_thaw_overlaps,
    .create = freeze_thaw_create,
    .destroy = freeze_thaw_destroy,
    .next = freeze_thaw_next,
    .phase = freeze_thaw_phase,
    .ended = freeze_thaw_ended,
    .close = freeze_thaw_close,
};
