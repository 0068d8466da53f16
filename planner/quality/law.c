#include "planner/quality/law.h"

#include "base/order.h"
#include "engine/core/tuner.h"
#include "profiles/job/job_names.h"
#include "samplers/model/normal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void rb_quality_law_prior(struct rb_quality_law *out)
{
    *out = (struct rb_quality_law){
        .source = "a prior",
        .share = {0.04, 0.12, 0.36, 1},
        .rho = {0.75, 0.85, 0.93, 1},
        .n = 4,
        .spread = 0.5,
    };
}

// ---- from a table

// 1 to R; where these are more than can be kept, at even ratios.
static int list_resources(int max_resource, int out[static RB_QUALITY_SHARES])
{
    int n = 0;
    for (int i = 0; i < RB_QUALITY_SHARES; i++) {
        const double even = pow(max_resource, (double)i / (RB_QUALITY_SHARES - 1));
        const int r = max_resource <= RB_QUALITY_SHARES ? i + 1 : (int)lround(even);
        if (r <= max_resource && (n == 0 || r > out[n - 1]))
            out[n++] = r;
    }
    return n;
}

// Diverged: the worst finite score.
static void list_scores(const struct rb_blackbox *t, int resource, double *out)
{
    double worst = INFINITY;
    for (int i = 0; i < t->n_rows; i++) {
        out[i] = rb_score(t->goal, rb_blackbox_metric(t, i, resource));
        if (isfinite(out[i]) && out[i] < worst)
            worst = out[i];
    }
    for (int i = 0; i < t->n_rows; i++)
        if (!isfinite(out[i]))
            out[i] = isfinite(worst) ? worst : 0;
}

static bool check_metric(const struct rb_blackbox *t, const struct rb_job *job, struct rb_err *err)
{
    if (t->goal == job->goal && strcmp(t->metric_name, job->metric_name) == 0)
        return true;
    return rb_err_set(err, RB_E_BLACKBOX_JOB,
                      "%s: its metric is %s (%s), the job's is %s (%s): name a table of the job's own metric", t->path,
                      t->metric_name, rb_goal_names[t->goal], job->metric_name, rb_goal_names[job->goal]);
}

static const char *table_name(const struct rb_blackbox *t, struct rb_arena *arena)
{
    const char *slash = strrchr(t->path, '/'), *name = slash ? slash + 1 : t->path;
    return rb_arena_printf(arena, "the table %.*s", (int)strcspn(name, "."), name);
}

bool rb_quality_law_of_table(const struct rb_blackbox *table, const struct rb_job *job, struct rb_arena *arena,
                             struct rb_quality_law *out, struct rb_err *err)
{
    int resources[RB_QUALITY_SHARES];
    const size_t n_rows = (size_t)table->n_rows;
    if (!check_metric(table, job, err))
        return false;
    const int n = list_resources(table->max_resource, resources);
    double *scores = rb_arena_array(arena, (size_t)n * n_rows, sizeof *scores);
    double *final = rb_arena_array(arena, n_rows, sizeof *final), *here = rb_arena_array(arena, n_rows, sizeof *here);
    struct rb_quality_law law = {.source = table_name(table, arena), .n = n, .scores = scores, .n_scores = table->n_rows,
                                 .goal = table->goal};
    list_scores(table, table->max_resource, scores);
    rb_normal_scores(scores, table->n_rows, arena, final);
    for (int i = 0; i < n; i++) {
        double *at = &scores[(size_t)i * n_rows];
        list_scores(table, resources[i], at);
        rb_normal_scores(at, table->n_rows, arena, here);
        const double rho = fmax(0, rb_normal_score_correlation(here, final, table->n_rows));
        law.share[i] = (double)resources[i] / table->max_resource;
        law.rho[i] = i == n - 1 ? 1 : i > 0 ? fmax(rho, law.rho[i - 1]) : rho;
        qsort(at, n_rows, sizeof *at, rb_order_doubles);
    }
    *out = law;
    return true;
}

// ---- asked

// The first known share that is not below it.
static int place_of(const struct rb_quality_law *law, double share)
{
    int i = 0;
    while (i < law->n - 1 && law->share[i] < share)
        i++;
    return i;
}

double rb_quality_correlation(const struct rb_quality_law *law, double share)
{
    const int i = place_of(law, share);
    assert(share > 0 && share <= 1);
    if (i == 0)
        return law->rho[0] * share / law->share[0];
    const double part = log(share / law->share[i - 1]) / log(law->share[i] / law->share[i - 1]);
    return law->rho[i - 1] + part * (law->rho[i] - law->rho[i - 1]);
}

// The scores at the nearest known share that is not below it.
static const double *scores_at(const struct rb_quality_law *law, double share)
{
    return &law->scores[place_of(law, share) * law->n_scores];
}

static double metric_of(const struct rb_quality_law *law, double score)
{
    return law->goal == RB_GOAL_MINIMIZE ? -score : score;
}

bool rb_quality_knows_metrics(const struct rb_quality_law *law)
{
    return law->scores || law->n_maps > 0;
}

// Score k of n is the (k + 1/2)/n quantile; linear between, constant beyond.
static double score_in_table(const struct rb_quality_law *law, double z)
{
    const double *s = scores_at(law, 1), at = rb_normal_cdf(z) * law->n_scores - 0.5;
    const int last = law->n_scores - 1;
    if (at <= 0 || at >= last)
        return s[at <= 0 ? 0 : last];
    const int below = (int)at;
    return s[below] + (at - below) * (s[below + 1] - s[below]);
}

static double score_in_map(const struct rb_quality_map *m, double z)
{
    int above = 0; // the first knot that is not below z
    for (int end = m->n; above < end;) {
        const int middle = above + (end - above) / 2;
        if (m->z[middle] < z)
            above = middle + 1;
        else
            end = middle;
    }
    if (above == 0 || above == m->n)
        return m->scores[above == 0 ? 0 : m->n - 1];
    const double part = (z - m->z[above - 1]) / (m->z[above] - m->z[above - 1]);
    return m->scores[above - 1] + part * (m->scores[above] - m->scores[above - 1]);
}

double rb_quality_metric(const struct rb_quality_law *law, double z, int k)
{
    if (law->scores)
        return metric_of(law, score_in_table(law, z));
    return law->n_maps > 0 ? metric_of(law, score_in_map(&law->maps[k % law->n_maps], z)) : NAN;
}

bool rb_quality_is_beyond(const struct rb_quality_law *law, double z, int k)
{
    const struct rb_quality_map *m = law->n_maps > 0 ? &law->maps[k % law->n_maps] : NULL;
    return m && z > m->z[m->n - 1];
}

double rb_quality_score_of(const struct rb_quality_law *law, double share, double metric)
{
    const double *s = scores_at(law, share), score = law->goal == RB_GOAL_MINIMIZE ? -metric : metric;
    int k = 0;
    assert(law->scores);
    while (k < law->n_scores && s[k] < score)
        k++;
    if (k == law->n_scores)
        return INFINITY;
    if (k == 0)
        return -INFINITY;
    const double part = (score - s[k - 1]) / (s[k] - s[k - 1]);
    return rb_normal_quantile((k - 0.5 + part) / law->n_scores);
}
