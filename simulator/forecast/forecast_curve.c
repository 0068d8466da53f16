#include "simulator/forecast/forecast_curve.h"

#include <math.h>

// No shape is exact, so a long curve must not be more certain of its parameters than this number of reports would make
// it.
#define MOST_REPORTS 10.0
// Minimum noise of a report around its curve, in units of the spread of all scores; smaller estimates are not trusted.
#define LEAST_NOISE 1e-3
// Curves with this many reports have half the weight in the common estimates of the job.
#define HALF_WEIGHT 10.0

// Prior of the calibration: this many checked forecasts whose errors matched their stated deviations.
#define DOUBTS 4.0

// Gain beyond every forecast from doubling the resource, in units of the spread of all scores.
#define SURPRISE 1.5

struct line {
    double u, v; // posterior means of start and rise
    double var_v;
    double weight; // of the shape, over all shapes 1
};

struct shape_prior {
    double u, var_u, v, var_v;
    double log_weight;
};

struct rb_curve_model {
    const struct rb_seen_curves *seen;
    double noise_var, scale_var;
    double inflation; // factor on standard deviations: past errors of forecasts over their stated deviations
    struct shape_prior prior[RB_CURVE_SHAPES];
    struct line *lines; // [n_trials x RB_CURVE_SHAPES]
};

static const struct rb_curve_sums none; // a trial that has not reported

// ---- least squares, for what the curves have in common

struct fit {
    double u, v;
    double squares; // of residuals
    double spread;  // sum of (x - mean x)^2
};

// false: too few reports to fit a line and its error.
static bool least_squares(const struct rb_curve_sums *t, int k, struct fit *out)
{
    if (t->n < 3)
        return false;
    const double n = t->n, spread = t->xx[k] - t->x[k] * t->x[k] / n;
    if (!(spread > 1e-12))
        return false;
    const double v = (t->xy[k] - t->x[k] * t->y / n) / spread;
    const double squares = t->yy - t->y * t->y / n - v * v * spread;
    *out = (struct fit){.u = (t->y - v * t->x[k]) / n, .v = v, .squares = squares > 0 ? squares : 0, .spread = spread};
    return true;
}

// Residuals around each trial's best shape, over all trials; they are the noise if the shape is right.
static double noise_variance(const struct rb_seen_curves *seen, double scale_var)
{
    double squares = 0, freedom = 0;
    for (int i = 0; i < seen->n_trials; i++) {
        double least = INFINITY;
        struct fit f;
        for (int k = 0; k < RB_CURVE_SHAPES; k++) {
            if (least_squares(&seen->trials[i], k, &f) && f.squares < least)
                least = f.squares;
        }
        if (least < INFINITY) {
            squares += least;
            freedom += seen->trials[i].n - 2;
        }
    }
    const double least = LEAST_NOISE * LEAST_NOISE * scale_var;
    return freedom > 0 && squares / freedom > least ? squares / freedom : freedom > 0 ? least : 0.01 * scale_var;
}

// Variance of all reported scores around their mean: the prior of a score when nothing is known of its trial.
static double scale_variance(const struct rb_seen_curves *seen, int *out_n, double *out_mean)
{
    double y = 0, yy = 0;
    int n = 0;
    for (int i = 0; i < seen->n_trials; i++) {
        y += seen->trials[i].y;
        yy += seen->trials[i].yy;
        n += seen->trials[i].n;
    }
    *out_n = n;
    *out_mean = n > 0 ? y / n : 0;
    const double var = n > 1 ? (yy - y * y / n) / (n - 1) : 0;
    return var > 1e-18 ? var : 1e-18;
}

// ---- common parameters of the job's curves

static double temper(const struct rb_curve_sums *t)
{
    return t->n > MOST_REPORTS ? MOST_REPORTS / t->n : 1;
}

// Mean and variance of the rises, each weighted by the precision of its curve (random effects; two rounds).
static void fit_rises(const struct rb_curve_model *m, int k, struct shape_prior *p)
{
    double mean = 0, var = 16 * m->scale_var;
    for (int round = 0; round < 2; round++) {
        double w_sum = 0, wv = 0, wvv = 0, own = 0;
        struct fit f;
        for (int i = 0; i < m->seen->n_trials; i++) {
            if (!least_squares(&m->seen->trials[i], k, &f))
                continue;
            const double own_var = m->noise_var / (temper(&m->seen->trials[i]) * f.spread), w = 1 / (var + own_var);
            w_sum += w;
            wv += w * f.v;
            wvv += w * f.v * f.v;
            own += w * own_var;
        }
        if (w_sum > 0) {
            mean = wv / w_sum;
            const double between = (wvv - w_sum * mean * mean - own) / w_sum, least = 0.25 * m->scale_var;
            var = between > least ? between : least;
        }
    }
    p->v = mean;
    p->var_v = var;
}

static void fit_priors(struct rb_curve_model *m, double mean_score)
{
    for (int k = 0; k < RB_CURVE_SHAPES; k++) {
        struct shape_prior *p = &m->prior[k];
        *p = (struct shape_prior){.u = mean_score, .var_u = 4 * m->scale_var};
        fit_rises(m, k, p);
        p->u = mean_score - 0.5 * p->v; // reports are at resources between start and end
        p->var_u += 0.25 * p->var_v;
    }
}

// ---- each trial's own curve

// Bayesian linear regression of one shape; *out_log: log evidence, up to a constant shared by all shapes.
static struct line posterior(const struct rb_curve_model *m, const struct rb_curve_sums *t, int k, double *out_log)
{
    const struct shape_prior *p = &m->prior[k];
    const double q = temper(t) / m->noise_var;
    const double a = 1 / p->var_u + q * t->n, b = q * t->x[k], d = 1 / p->var_v + q * t->xx[k];
    const double r = p->u / p->var_u + q * t->y, s = p->v / p->var_v + q * t->xy[k];
    const double det = a * d - b * b;
    const double u = (r * d - s * b) / det, v = (a * s - b * r) / det;
    const double misfit = q * t->yy + p->u * p->u / p->var_u + p->v * p->v / p->var_v - u * r - v * s;
    *out_log = p->log_weight - 0.5 * (log(det * p->var_u * p->var_v) + misfit);
    return (struct line){.u = u, .v = v, .var_v = a / det};
}

static void fit_lines(const struct rb_curve_model *m, const struct rb_curve_sums *t, struct line lines[RB_CURVE_SHAPES])
{
    double logs[RB_CURVE_SHAPES], most = -INFINITY, sum = 0;
    for (int k = 0; k < RB_CURVE_SHAPES; k++) {
        lines[k] = posterior(m, t, k, &logs[k]);
        most = logs[k] > most ? logs[k] : most;
    }
    for (int k = 0; k < RB_CURVE_SHAPES; k++)
        sum += lines[k].weight = exp(logs[k] - most);
    for (int k = 0; k < RB_CURVE_SHAPES; k++)
        lines[k].weight /= sum;
}

// Shapes that fit the long curves are more likely for the short ones.
static void learn_shapes(struct rb_curve_model *m)
{
    double sums[RB_CURVE_SHAPES], total = RB_CURVE_SHAPES;
    for (int k = 0; k < RB_CURVE_SHAPES; k++)
        sums[k] = 1;
    for (int i = 0; i < m->seen->n_trials; i++) {
        const double weight = m->seen->trials[i].n / (m->seen->trials[i].n + HALF_WEIGHT);
        for (int k = 0; k < RB_CURVE_SHAPES; k++)
            sums[k] += weight * m->lines[i * RB_CURVE_SHAPES + k].weight;
        total += weight;
    }
    for (int k = 0; k < RB_CURVE_SHAPES; k++)
        m->prior[k].log_weight = log(sums[k] / total);
}

// ---- forecasts

// The curve of a shape, shifted by the deviation of the last reports: the most recent past is the best predictor of the
// near future.
static struct rb_prospect along(const struct line *l, const struct rb_curve_sums *t, int k, double x, double noise_var)
{
    const double trust = t->n / (t->n + 4.0);
    const double off = t->n > 0 ? trust * (t->recent_y - l->u - l->v * t->recent_x[k]) : 0;
    const double ahead = x - t->recent_x[k];
    return (struct rb_prospect){.mean = l->u + l->v * x + off, .sd = sqrt(l->var_v * ahead * ahead + 0.15 * noise_var)};
}

static struct rb_prospect mixture(const struct rb_curve_model *m, const struct rb_curve_sums *t,
                                  const struct line *lines, const double x[RB_CURVE_SHAPES])
{
    double mean = 0, square = 0;
    for (int k = 0; k < RB_CURVE_SHAPES; k++) {
        const struct rb_prospect p = along(&lines[k], t, k, x[k], m->noise_var);
        mean += lines[k].weight * p.mean;
        square += lines[k].weight * (p.sd * p.sd + p.mean * p.mean);
    }
    const double var = square - mean * mean;
    return (struct rb_prospect){.mean = mean, .sd = sqrt(var > 0 ? var : 0)};
}

// Forecasts every curve from its last power of two of reports, and compares with the later reports. The mean x of
// recent reports serves as a resource: curves are linear in x.
static double past_errors(const struct rb_curve_model *m)
{
    double squares = DOUBTS, n = DOUBTS;
    for (int i = 0; i < m->seen->n_trials; i++) {
        const struct rb_curve_sums *then = &m->seen->past[i], *now = &m->seen->trials[i];
        struct line lines[RB_CURVE_SHAPES];
        if (then->n < 4 || 2 * now->n < 3 * then->n)
            continue;
        fit_lines(m, then, lines);
        const struct rb_prospect p = mixture(m, then, lines, now->recent_x);
        squares += (now->recent_y - p.mean) * (now->recent_y - p.mean) / (p.sd * p.sd + 0.15 * m->noise_var);
        n++;
    }
    return squares > n ? sqrt(squares / n) : 1;
}

struct rb_prospect rb_curve_prospect(const struct rb_curve_model *m, int trial, const double x[RB_CURVE_SHAPES])
{
    struct rb_prospect p;
    if (trial < m->seen->n_trials) {
        p = mixture(m, &m->seen->trials[trial], &m->lines[trial * RB_CURVE_SHAPES], x);
    } else {
        struct line lines[RB_CURVE_SHAPES];
        fit_lines(m, &none, lines);
        p = mixture(m, &none, lines, x);
    }
    p.mean += m->seen->origin;
    p.sd *= m->inflation;
    return p;
}

double rb_curve_surprise(const struct rb_curve_model *m, double resource)
{
    int64_t seen = 1;
    for (int i = 0; i < m->seen->n_trials; i++)
        seen = m->seen->trials[i].last_resource > seen ? m->seen->trials[i].last_resource : seen;
    const double doublings = log2(resource / (double)seen);
    return doublings > 0 ? SURPRISE * sqrt(m->scale_var * doublings) : 0;
}

double rb_curve_noise(const struct rb_curve_model *m)
{
    return sqrt(m->noise_var);
}

// ---- the model

const struct rb_curve_model *rb_curve_model_fit(const struct rb_seen_curves *seen, struct rb_arena *arena)
{
    int n_reports;
    double mean_score;
    const double scale_var = scale_variance(seen, &n_reports, &mean_score);
    if (n_reports < 2)
        return NULL;
    struct rb_curve_model *m = rb_arena_array(arena, 1, sizeof *m);
    *m = (struct rb_curve_model){.seen = seen, .scale_var = scale_var, .noise_var = noise_variance(seen, scale_var)};
    m->lines = rb_arena_array(arena, (size_t)seen->n_trials * RB_CURVE_SHAPES, sizeof *m->lines);
    fit_priors(m, mean_score);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < seen->n_trials; i++)
            fit_lines(m, &seen->trials[i], &m->lines[i * RB_CURVE_SHAPES]);
        learn_shapes(m);
    }
    m->inflation = past_errors(m);
    return m;
}
