// Median stopping: a trial is stopped for good when its best score so far is worse than the median of the others, each
// taken as the average of its scores up to the same resource. Sources: Golovin et al., "Google Vizier", KDD'17, section
// 3.2.1; with `compare: values` the others count by their scores at that resource, as Optuna's MedianPruner has it.
// No trial is stopped before min_resource.
#include "engine/tuners/ranking.h"

#include "base/arena.h"
#include "engine/tuners/tuners.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RULE_RESULTS, RULE_COMPARE, N_RULES };
enum { COMPARE_AVERAGES, COMPARE_VALUES };

static const char *const compare_names[] = {"averages", "values", NULL};

static const struct rb_setting_rule rules[N_RULES] = {
    [RULE_RESULTS] = {.key = "results", .kind = RB_SETTING_INT, .min = 1, .max = RB_LIMIT_TRIALS, .fallback = 5,
                      .summary = "other trials that must have reported at a resource before one is stopped there"},
    [RULE_COMPARE] = {.key = "compare", .kind = RB_SETTING_CHOICE, .choices = compare_names,
                      .summary = "what the others count by: averages of their scores so far, or values at that resource"},
};

struct trial {
    bool trains, waits; // waits: a policy has paused it
    int64_t resource;   // of its last report
    int n_reports;
    double sum, best;
};

// The results of all trials that reported at one resource: the better half and the rest.
struct level {
    int64_t resource;
    struct rb_ranking results;
};

struct median {
    int max_trials, n_trials, n_training, enough;
    bool by_value;
    int64_t min_resource, max_resource;
    struct trial *trials;                 // [max_trials]
    struct level *levels;                 // ascending resource, [n_levels]
    int n_levels;
    bool closed_new, closed_all;
    int handed;                           // what a group points to
};

// One stage that trains all trials to the end, though few will get there: only runs of the engine show the real time.
static bool median_stages(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    (void)err;
    rb_rungs_one(job->scheduler.num_trials, job->scheduler.max_resource, out);
    return true;
}

static bool median_overlaps(const struct rb_scheduler *s)
{
    (void)s;
    return true;
}

static bool median_create(const struct rb_job *job, void **out_state, struct rb_err *err)
{
    const struct rb_scheduler *s = &job->scheduler;
    double options[RB_SETTINGS_MAX];
    if (!rb_tuner_options(&rb_tuner_median, s, options, err))
        return false;
    struct median *m = rb_xcalloc(1, sizeof *m);
    *m = (struct median){.max_trials = s->num_trials,
                         .enough = (int)options[RULE_RESULTS],
                         .by_value = options[RULE_COMPARE] == COMPARE_VALUES,
                         .min_resource = s->min_resource,
                         .max_resource = s->max_resource};
    m->trials = rb_xcalloc((size_t)m->max_trials, sizeof *m->trials);
    *out_state = m;
    return true;
}

static void median_destroy(void *state)
{
    struct median *m = state;
    if (!m)
        return;
    for (int i = 0; i < m->n_levels; i++)
        rb_ranking_finish(&m->levels[i].results);
    free(m->levels);
    free(m->trials);
    free(m);
}

// The results at a resource; an empty level if it is new.
static struct rb_ranking *results_at(struct median *m, int64_t resource)
{
    int low = 0;
    for (int high = m->n_levels; low < high;) {
        const int mid = low + (high - low) / 2;
        if (m->levels[mid].resource < resource)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < m->n_levels && m->levels[low].resource == resource)
        return &m->levels[low].results;
    m->levels = rb_grow(m->levels, m->n_levels, sizeof *m->levels);
    memmove(&m->levels[low + 1], &m->levels[low], (size_t)(m->n_levels - low) * sizeof *m->levels);
    m->levels[low].resource = resource;
    rb_ranking_init(&m->levels[low].results);
    m->n_levels++;
    return &m->levels[low].results;
}

// There must be results.
static double median_of(const struct rb_ranking *r)
{
    const double low_best = r->best.items[0].score; // of the better half, which has one more if the number is odd
    if (rb_ranking_count(r) % 2 == 1)
        return low_best;
    return low_best == r->rest.items[0].score ? low_best : (low_best + r->rest.items[0].score) / 2;
}

// A paused trial continues before a new one begins. -1: none may.
static int choose(struct median *m)
{
    for (int i = 0; i < m->n_trials && !m->closed_all; i++)
        if (m->trials[i].waits)
            return i;
    return m->closed_new || m->n_trials == m->max_trials ? -1 : m->n_trials++;
}

static enum rb_tuner_next median_next(void *state, struct rb_group *out)
{
    struct median *m = state;
    const int id = choose(m);
    if (id < 0)
        return m->n_training > 0 ? RB_TUNER_WAIT : RB_TUNER_DONE;
    struct trial *t = &m->trials[id];
    if (!t->waits)
        t->best = -INFINITY;
    t->trains = true;
    t->waits = false;
    m->n_training++;
    m->handed = id;
    *out = (struct rb_group){
        .trials = &m->handed, .n_trials = 1, .resource_start = t->resource, .resource_end = m->max_resource};
    return RB_TUNER_GROUP;
}

static int median_phase(const void *state)
{
    (void)state;
    return 0;
}

static void leave(struct median *m, struct trial *t)
{
    t->trains = false;
    m->n_training--;
}

// A report that is repeated, after a node was lost, is no new one.
static enum rb_verdict median_reported(void *state, int id, int64_t resource, double score)
{
    struct median *m = state;
    struct trial *t = &m->trials[id];
    if (!t->trains || resource <= t->resource || resource >= m->max_resource)
        return RB_VERDICT_CONTINUE;
    struct rb_ranking *others = results_at(m, resource);
    const int n = rb_ranking_count(others);
    t->resource = resource;
    t->n_reports++;
    t->sum += score;
    t->best = fmax(t->best, score);
    const bool worse = n >= m->enough && resource >= m->min_resource && t->best < median_of(others);
    const double result = m->by_value ? score : t->sum / t->n_reports;
    rb_ranking_add(others, (struct rb_scored){result, id}, (n + 2) / 2);
    if (!worse)
        return RB_VERDICT_CONTINUE;
    leave(m, t);
    return RB_VERDICT_STOP;
}

static void median_ended(void *state, int id, int64_t resource, double score)
{
    struct median *m = state;
    struct trial *t = &m->trials[id];
    if (!t->trains)
        return;
    leave(m, t);
    t->waits = score > -INFINITY && resource < m->max_resource;
    t->resource = resource;
}

static void median_close(void *state, enum rb_tuner_close what)
{
    struct median *m = state;
    m->closed_new = true;
    m->closed_all = m->closed_all || what == RB_CLOSE_ALL;
}

const struct rb_tuner rb_tuner_median = {
    .name = "median",
    .on_demand = true,
    .rules = rules,
    .n_rules = N_RULES,
    .stages = median_stages,
    .overlaps = median_overlaps,
    .create = median_create,
    .destroy = median_destroy,
    .next = median_next,
    .phase = median_phase,
    .reported = median_reported,
    .ended = median_ended,
    .close = median_close,
};
