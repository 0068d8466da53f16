#include "engine/tuners/level_model.h"

#include <math.h>
#include <string.h>

enum { N = RB_LIMIT_STAGES };

// Shapes, relative to R and to the variance of asymptotes.
static const double betas[] = {0.02, 0.1, 0.5}, decays[] = {0.1, 0.5, 2, 8, 32, 128}, noises[] = {0.001, 0.01, 0.1};

// One shape's covariance over v, and its Cholesky factor; the factor of a curve's first levels is its leading part.
struct shape {
    int n;
    double gain[N];      // g at each level
    double last[N];      // covariance of each level's score with the true one at the last
    double at_last;      // variance of that
    double factor[N][N]; // lower
};

static double decayed(double beta, double t)
{
    return beta / (t + beta);
}

static void make_shape(struct shape *s, const int64_t *resource, int n, double beta, double decay, double noise)
{
    const double R = (double)resource[n - 1];
    s->n = n;
    s->at_last = 1 + decay * decayed(beta, 2);
    for (int i = 0; i < n; i++) {
        const double t = (double)resource[i] / R;
        s->gain[i] = decayed(beta, t);
        s->last[i] = 1 + decay * decayed(beta, t + 1);
        for (int k = 0; k <= i; k++) {
            double sum = 1 + decay * decayed(beta, t + (double)resource[k] / R) + (k == i ? noise : 0);
            for (int j = 0; j < k; j++)
                sum -= s->factor[i][j] * s->factor[k][j];
            s->factor[i][k] = k == i ? sqrt(sum) : sum / s->factor[k][k];
        }
    }
}

// x := L^-1 x for the first n levels.
static void whiten(const struct shape *s, double *x, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= s->factor[i][k] * x[k];
        x[i] /= s->factor[i][i];
    }
}

// Sums of least squares for y = mean - gain g, whitened.
struct sums {
    int n;
    double log_det, oo, og, gg, oy, gy, yy;
};

static void add_curve(const struct shape *s, const struct rb_level_curve *c, const double *ones, const double *gains,
                      struct sums *out)
{
    double y[N];
    memcpy(y, c->scores, (size_t)c->n * sizeof *y);
    whiten(s, y, c->n);
    for (int i = 0; i < c->n; i++) {
        out->log_det += 2 * log(s->factor[i][i]);
        out->oo += ones[i] * ones[i];
        out->og += ones[i] * gains[i];
        out->gg += gains[i] * gains[i];
        out->oy += ones[i] * y[i];
        out->gy += gains[i] * y[i];
        out->yy += y[i] * y[i];
    }
    out->n += c->n;
}

struct fit {
    double loss, mean, gain, v; // loss: twice the negative log-likelihood, less constants
};

static struct fit solve(const struct sums *s)
{
    const double det = s->oo * s->gg - s->og * s->og;
    struct fit f = {.mean = s->oy / s->oo};
    if (det > 1e-9 * s->oo * s->gg) { // else one level only: the gain is not known
        f.mean = (s->gg * s->oy - s->og * s->gy) / det;
        f.gain = -(s->oo * s->gy - s->og * s->oy) / det;
    }
    const double rest = s->yy - f.mean * s->oy + f.gain * s->gy;
    f.v = rest > 0 ? rest / s->n : 0;
    f.loss = s->log_det + s->n * log(fmax(f.v, 1e-300));
    return f;
}

static struct fit fit_shape(const struct shape *s, const struct rb_level_curve *curves, int n)
{
    double ones[N], gains[N];
    struct sums sums = {0};
    for (int i = 0; i < s->n; i++) {
        ones[i] = 1;
        gains[i] = s->gain[i];
    }
    whiten(s, ones, s->n);
    whiten(s, gains, s->n);
    for (int i = 0; i < n; i++)
        add_curve(s, &curves[i], ones, gains, &sums);
    return sums.n > 0 ? solve(&sums) : (struct fit){0};
}

// weight = C^-1 c for the first `known` levels, by both triangles; the variance that remains.
static void condition(const struct shape *s, int known, double v, struct rb_level_model *m)
{
    double w[N], explained = 0;
    memcpy(w, s->last, (size_t)known * sizeof *w);
    whiten(s, w, known);
    for (int i = 0; i < known; i++)
        explained += w[i] * w[i];
    for (int i = known - 1; i >= 0; i--) {
        for (int k = i + 1; k < known; k++)
            w[i] -= s->factor[k][i] * w[k];
        w[i] /= s->factor[i][i];
    }
    memcpy(m->weight[known], w, (size_t)known * sizeof *w);
    m->sd[known] = sqrt(v * fmax(0, s->at_last - explained));
}

void rb_level_model_fit(struct rb_level_model *m, const int64_t *resource, int n_levels,
                        const struct rb_level_curve *curves, int n_curves)
{
    struct shape best_shape = {0};
    struct fit best = {.loss = INFINITY};
    for (size_t i = 0; i < sizeof betas / sizeof *betas; i++)
        for (size_t j = 0; j < sizeof decays / sizeof *decays; j++)
            for (size_t k = 0; k < sizeof noises / sizeof *noises; k++) {
                struct shape shape;
                make_shape(&shape, resource, n_levels, betas[i], decays[j], noises[k]);
                const struct fit f = fit_shape(&shape, curves, n_curves);
                if (f.loss < best.loss) {
                    best = f;
                    best_shape = shape;
                }
            }
    m->n_levels = n_levels;
    for (int i = 0; i < n_levels; i++)
        m->mean[i] = best.mean - best.gain * best_shape.gain[i];
    for (int known = 0; known <= n_levels; known++)
        condition(&best_shape, known, best.v, m);
}

double rb_level_model_expect(const struct rb_level_model *m, const double *scores, int n)
{
    double y = m->mean[m->n_levels - 1];
    for (int i = 0; i < n; i++)
        y += m->weight[n][i] * (scores[i] - m->mean[i]);
    return y;
}
