#include "planner/quality/runs.h"

#include "base/order.h"
#include "base/stream.h"
#include "engine/core/tuner.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PAIRS 4  // with fewer Fisher's z has no variance
#define N_POWERS    81 // u from -4 to 4 standard deviations of the prior

// A trial's result at a rung.
struct seen {
    int rung;
    int before;    // its result at the rung that it reached before, -1: it began here
    double score;  // higher is better; -INFINITY: it failed or diverged
    double normal; // normal score among the results of the rung
    double y;      // normal score among all configurations there
};

struct seen_all {
    struct seen *items; // by rung, then by score, [n]
    int n;
    double *share;      // of R, of each rung, [n_rungs]
    int *first;         // its first item, [n_rungs + 1]
    int n_rungs;
    int n_trials, n_final;
    double *values;     // room for n
};

// ---- what was found

struct entry {
    int trial;
    int64_t resource;
    double score;
};

static int by_rung_and_score(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    if (a->resource != b->resource)
        return a->resource < b->resource ? -1 : 1;
    return a->score < b->score ? -1 : a->score > b->score ? 1 : (a->trial > b->trial) - (a->trial < b->trial);
}

// Results are by configuration; those beyond R would be of another search.
static int list_entries(const struct rb_found_metrics *found, const struct rb_job *job, struct entry *out,
                        int *out_trials)
{
    int n = 0;
    *out_trials = 0;
    for (int i = 0; i < found->n; i++) {
        const struct rb_found_metric *r = &found->results[i];
        *out_trials += i == 0 || strcmp(r->config_json, r[-1].config_json) != 0;
        if (r->resource <= job->scheduler.max_resource)
            out[n++] = (struct entry){*out_trials - 1, r->resource, rb_score(job->goal, r->metric)};
    }
    qsort(out, (size_t)n, sizeof *out, by_rung_and_score);
    return n;
}

static void score_rung(struct seen_all *s, int rung, struct rb_arena *arena)
{
    const int first = s->first[rung], n = s->first[rung + 1] - first;
    double *normal = rb_arena_array(arena, (size_t)n, sizeof *normal);
    for (int i = 0; i < n; i++)
        s->values[i] = s->items[first + i].score;
    rb_normal_scores(s->values, n, arena, normal);
    for (int i = 0; i < n; i++)
        s->items[first + i].normal = normal[i];
}

static void see(const struct rb_found_metrics *found, const struct rb_job *job, struct rb_arena *arena,
                struct seen_all *out)
{
    const size_t most = (size_t)found->n + 1;
    struct entry *entries = rb_arena_array(arena, most, sizeof *entries);
    *out = (struct seen_all){.items = rb_arena_array(arena, most, sizeof *out->items),
                             .share = rb_arena_array(arena, most, sizeof *out->share),
                             .first = rb_arena_array(arena, most, sizeof *out->first),
                             .values = rb_arena_array(arena, most, sizeof *out->values)};
    out->n = list_entries(found, job, entries, &out->n_trials);
    int *last = rb_arena_array(arena, (size_t)out->n_trials + 1, sizeof *last); // 1 + the trial's last result
    for (int i = 0; i < out->n; i++) {
        if (i == 0 || entries[i].resource != entries[i - 1].resource) {
            out->first[out->n_rungs] = i;
            out->share[out->n_rungs++] = (double)entries[i].resource / (double)job->scheduler.max_resource;
        }
        out->items[i] = (struct seen){out->n_rungs - 1, last[entries[i].trial] - 1, entries[i].score, 0, 0};
        last[entries[i].trial] = i + 1;
        out->n_final += entries[i].resource == job->scheduler.max_resource;
    }
    out->first[out->n_rungs] = out->n;
    for (int i = 0; i < out->n_rungs; i++)
        score_rung(out, i, arena);
}

// ---- a rung, given the one before

// rho of the prior to the power e^power.
static void raise_prior(double power, struct rb_quality_law *out)
{
    rb_quality_law_prior(out);
    for (int i = 0; i < out->n; i++)
        out->rho[i] = pow(out->rho[i], exp(power));
}

// Mean and variance of a result's y, given the trial's result before.
static void expect(const struct seen_all *s, const struct rb_quality_law *law, const struct seen *item, double *mean,
                   double *variance)
{
    *mean = 0;
    *variance = 1;
    if (item->before < 0)
        return;
    const struct seen *before = &s->items[item->before];
    const double c =
        rb_quality_correlation(law, s->share[before->rung]) / rb_quality_correlation(law, s->share[item->rung]);
    *mean = c * before->y;
    *variance = 1 - c * c;
}

// The scores of the rung's results among all configurations: as far apart as their ranks, with mean and variance of
// the mixture.
static void place(struct seen_all *s, const struct rb_quality_law *law, int rung)
{
    const int first = s->first[rung], n = s->first[rung + 1] - first;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        double mean, variance;
        expect(s, law, &s->items[first + i], &mean, &variance);
        sum += mean;
        squares += mean * mean + variance;
    }
    const double centre = sum / n, sd = sqrt(squares / n - centre * centre);
    for (int i = 0; i < n; i++)
        s->items[first + i].y = centre + sd * s->items[first + i].normal;
}

// ---- rho

// Correlation, and the standard deviation of x, over the trials that came to `rung` from `from`.
struct pairs {
    int n;
    double r, sd;
};

static struct pairs pairs_between(const struct seen_all *s, int from, int rung)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (int i = s->first[rung]; i < s->first[rung + 1]; i++) {
        const struct seen *now = &s->items[i], *before = now->before >= 0 ? &s->items[now->before] : NULL;
        if (!before || before->rung != from)
            continue;
        n++;
        x += before->y;
        y += now->normal;
        xx += before->y * before->y;
        xy += before->y * now->normal;
        yy += now->normal * now->normal;
    }
    const double vx = xx / n - x * x / n / n, vy = yy / n - y * y / n / n, cov = xy / n - x * y / n / n;
    if (n < LEAST_PAIRS || !(vx > 1e-12) || !(vy > 1e-12))
        return (struct pairs){0};
    return (struct pairs){(int)n, cov / sqrt(vx * vy), sqrt(vx)};
}

// That all of a few agree does not show that all would.
static double fisher_z(double r, int n)
{
    const double most = 1 - 0.5 / n;
    return atanh(fmax(-most, fmin(most, r)));
}

static double log_likelihood(struct seen_all *s, double u)
{
    struct rb_quality_law law;
    double sum = 0;
    raise_prior(u, &law);
    for (int rung = 0; rung < s->n_rungs; rung++) {
        place(s, &law, rung);
        for (int from = 0; from < rung; from++) {
            const struct pairs p = pairs_between(s, from, rung);
            if (p.n == 0)
                continue;
            const double c =
                rb_quality_correlation(&law, s->share[from]) / rb_quality_correlation(&law, s->share[rung]);
            const double expected = c * p.sd / sqrt(c * c * p.sd * p.sd + 1 - c * c);
            const double off = fisher_z(p.r, p.n) - fisher_z(expected, p.n);
            sum -= 0.5 * (p.n - 3) * off * off;
        }
    }
    return sum;
}

struct posterior {
    double u[N_POWERS], weight[N_POWERS]; // sum 1
    double mean, variance;
};

static void weigh(struct seen_all *s, double prior_sd, struct posterior *out)
{
    double most = -INFINITY, sum = 0, squares = 0;
    *out = (struct posterior){0};
    for (int i = 0; i < N_POWERS; i++) {
        const double at = 8.0 * i / (N_POWERS - 1) - 4;
        out->u[i] = hypot(prior_sd, RB_RUNS_TAU) * at;
        out->weight[i] = log_likelihood(s, out->u[i]) - 0.5 * at * at;
        most = fmax(most, out->weight[i]);
    }
    for (int i = 0; i < N_POWERS; i++)
        sum += out->weight[i] = exp(out->weight[i] - most);
    for (int i = 0; i < N_POWERS; i++) {
        out->weight[i] /= sum;
        out->mean += out->weight[i] * out->u[i];
        squares += out->weight[i] * out->u[i] * out->u[i];
    }
    out->variance = squares - out->mean * out->mean;
}

static double quantile(const struct posterior *p, double share)
{
    int i = 0;
    for (double sum = p->weight[0]; sum < share && i < N_POWERS - 1; sum += p->weight[i])
        i++;
    return p->u[i];
}

// ---- metrics

static void draw_rung(struct seen_all *s, const struct rb_quality_law *law, int rung, uint64_t seed, int map)
{
    const int first = s->first[rung], n = s->first[rung + 1] - first;
    for (int i = 0; i < n; i++) {
        const struct rb_stream_key key = {.seed = seed, .purpose = RB_DRAW_QUALITY, .stage = RB_LIMIT_STAGES + 1,
                                          .index = (uint32_t)(first + i), .replicate = (uint32_t)map};
        double mean, variance;
        expect(s, law, &s->items[first + i], &mean, &variance);
        s->values[i] = mean + sqrt(fmax(0, variance)) * rb_normal_quantile(rb_stream_first_uniform(&key));
    }
    qsort(s->values, (size_t)n, sizeof *s->values, rb_order_doubles);
    for (int i = 0; i < n; i++)
        s->items[first + i].y = s->values[i];
}

// Knots from the best at R down; at each rung before it, those below what is known.
static struct rb_quality_map list_knots(const struct seen_all *s, struct rb_arena *arena)
{
    double *z = rb_arena_array(arena, (size_t)s->n, sizeof *z), *scores = rb_arena_array(arena, (size_t)s->n, sizeof *z);
    int at = s->n;
    for (int i = s->n - 1; i >= 0; i--) {
        const struct seen *item = &s->items[i];
        if (!isfinite(item->score) || (at < s->n && !(item->y < z[at])))
            continue;
        scores[at - 1] = at < s->n ? fmin(item->score, scores[at]) : item->score;
        z[--at] = item->y;
    }
    return (struct rb_quality_map){z + at, scores + at, s->n - at};
}

static bool has_final_metric(const struct seen_all *s)
{
    return s->n_final > 0 && isfinite(s->items[s->n - 1].score);
}

static void draw_maps(struct seen_all *s, const struct posterior *p, uint64_t seed, struct rb_arena *arena,
                      struct rb_quality_law *out)
{
    struct rb_quality_map *maps = rb_arena_array(arena, RB_RUNS_MAPS, sizeof *maps);
    for (int m = 0; m < RB_RUNS_MAPS; m++) {
        struct rb_quality_law law;
        raise_prior(quantile(p, (m + 0.5) / RB_RUNS_MAPS), &law);
        for (int rung = 0; rung < s->n_rungs; rung++)
            draw_rung(s, &law, rung, seed, m);
        maps[m] = list_knots(s, arena);
    }
    out->maps = maps;
    out->n_maps = RB_RUNS_MAPS;
}

// ---- the law

void rb_quality_law_of_runs(const struct rb_found_metrics *found, const struct rb_job *job, const char *store,
                            struct rb_arena *arena, struct rb_quality_law *out)
{
    struct rb_quality_law prior;
    struct posterior p;
    struct seen_all s;
    rb_quality_law_prior(&prior);
    see(found, job, arena, &s);
    *out = prior;
    if (s.n == 0)
        return;
    weigh(&s, prior.spread, &p);
    const double share = pow(prior.spread / hypot(prior.spread, RB_RUNS_TAU), 2); // of u's variance, what is t's
    raise_prior(share * p.mean, out);
    out->spread = sqrt(share * share * p.variance + share * RB_RUNS_TAU * RB_RUNS_TAU);
    out->goal = job->goal;
    out->n_runs = found->n_runs;
    out->source = rb_arena_printf(
        arena, "%d earlier run%s of this search in %s (%d random configurations, %d trained to the end) and, by %.0f %%, "
               "a prior",
        found->n_runs, found->n_runs == 1 ? "" : "s", store, s.n_trials, s.n_final,
        100 * fmin(1, out->spread * out->spread / prior.spread / prior.spread));
    if (has_final_metric(&s))
        draw_maps(&s, &p, job->seed, arena, out);
}
