#include "samplers/model/gp_model.h"

#include "base/arena.h"
#include "samplers/model/encoding.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 32 // points predicted at once: their covariances stay in the cache; a multiple of RB_FACTOR_LANES

void rb_gp_init(struct rb_gp *gp, const struct rb_coordinates *c, const int64_t *levels, int n_levels, int cap)
{
    *gp = (struct rb_gp){.coordinates = c, .n_levels = n_levels, .n_features = rb_encoding_count(c), .cap = cap};
    for (int i = 0; i < n_levels; i++)
        gp->times[i] = levels[n_levels - 1] > 1 ? log((double)levels[i]) / log((double)levels[n_levels - 1]) : 1;
    gp->x = rb_xcalloc((size_t)gp->n_features * (size_t)cap + 1, sizeof *gp->x);
    gp->level_of = rb_xcalloc((size_t)cap, sizeof *gp->level_of);
    gp->keys = rb_xcalloc((size_t)cap, sizeof *gp->keys);
    gp->alpha = rb_xcalloc((size_t)cap, sizeof *gp->alpha);
    gp->scratch = rb_xcalloc((size_t)cap, sizeof *gp->scratch);
    rb_factor_init(&gp->factor, cap);
}

void rb_gp_finish(struct rb_gp *gp)
{
    free(gp->x);
    free(gp->level_of);
    free(gp->keys);
    free(gp->alpha);
    free(gp->scratch);
    rb_factor_finish(&gp->factor);
    *gp = (struct rb_gp){0};
}

// ---- the kernel

// e^-x for x >= 0 to 1e-12, in a form that compilers vectorise, and the same bits from all of them: 2^-k by the
// exponent's bits times e^-t, |t| <= ln 2 / 2, by Taylor's series.
static double exp_minus(double x)
{
    const double magic = 0x1.8p52; // added and subtracted it rounds to a whole number, which its low bits hold
    const double most = x < 690 ? x : 690, shifted = most * M_LOG2E + magic, t = (shifted - magic) * M_LN2 - most;
    double sum = 1.0 / 3628800;
    static const double inverse_factorials[] = {1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                                1.0 / 24,     1.0 / 6,     0.5,        1,         1};
    for (int i = 0; i < 10; i++)
        sum = sum * t + inverse_factorials[i];
    uint64_t k, bits;
    memcpy(&k, &shifted, sizeof k);
    memcpy(&bits, &sum, sizeof bits);
    bits -= k << 52;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

static double matern(double squared_distance)
{
    const double r = sqrt(5 * squared_distance);
    return (1 + r + r * r / 3) * exp_minus(r);
}

void rb_gp_set(struct rb_gp *gp, const struct rb_gp_hyper *hyper)
{
    gp->hyper = *hyper;
    rb_factor_truncate(&gp->factor, 0);
    gp->n_known = 0;
    for (int i = 0; i < gp->n_levels; i++)
        for (int j = 0; j < gp->n_levels; j++) {
            const double t = (gp->times[i] - gp->times[j]) / hyper->level_length;
            gp->levels_alike[i][j] = 1 - hyper->level_share + hyper->level_share * matern(t * t);
        }
}

static void encode(const struct rb_gp *gp, const double *u, double *out)
{
    rb_encoding_of(gp->coordinates, u, out);
    for (int i = 0; i < gp->coordinates->n; i++)
        for (int w = rb_encoding_width(gp->coordinates, i); w > 0; w--)
            *out++ /= gp->hyper.length[i];
}

bool rb_gp_add(struct rb_gp *gp, int key, const double *u, int level, double weight)
{
    const int n = gp->factor.n;
    double x[RB_ENCODING_MAX], *k = gp->scratch;
    assert(n < gp->cap);
    encode(gp, u, x);
    memset(k, 0, (size_t)n * sizeof *k);
    for (int f = 0; f < gp->n_features; f++) {
        const double *column = gp->x + (size_t)f * (size_t)gp->cap;
        for (int i = 0; i < n; i++)
            k[i] += (column[i] - x[f]) * (column[i] - x[f]);
    }
    for (int i = 0; i < n; i++)
        k[i] = matern(k[i]) * gp->levels_alike[level][gp->level_of[i]];
    if (!rb_factor_append(&gp->factor, k, 1 + gp->hyper.noise * gp->hyper.noise / weight))
        return false;
    for (int f = 0; f < gp->n_features; f++)
        gp->x[(size_t)f * (size_t)gp->cap + (size_t)n] = x[f];
    gp->level_of[n] = level;
    gp->keys[n] = key;
    return true;
}

void rb_gp_keep_common(struct rb_gp *gp, const int *keys, int n)
{
    int same = 0;
    while (same < n && same < gp->factor.n && gp->keys[same] == keys[same])
        same++;
    rb_factor_truncate(&gp->factor, same);
    gp->n_known = 0;
}

// ---- scores

void rb_gp_condition(struct rb_gp *gp, const double *y, int n)
{
    struct rb_factor known = gp->factor;
    double sum = 0;
    known.n = n;
    memcpy(gp->alpha, y, (size_t)n * sizeof *y);
    rb_factor_solve_lower(&known, gp->alpha);
    rb_factor_solve_upper(&known, gp->alpha);
    for (int i = 0; i < n; i++)
        sum += y[i] * gp->alpha[i];
    gp->n_known = n;
    gp->scale = n > 0 && sum > 0 ? sqrt(sum / n) : 1;
}

double rb_gp_log_likelihood(const struct rb_gp *gp)
{
    assert(gp->n_known == gp->factor.n);
    return -gp->n_known * log(gp->scale) - 0.5 * rb_factor_log_det(&gp->factor);
}

// Covariances of all rows with a block of points, x [n_features][BLOCK], k [rows][BLOCK].
static void covariances(const struct rb_gp *gp, const double *x, int level, double *k)
{
    for (int i = 0; i < gp->factor.n; i++) {
        double *row = k + (size_t)i * BLOCK;
        memset(row, 0, BLOCK * sizeof *row);
        for (int f = 0; f < gp->n_features; f++) {
            const double at = gp->x[(size_t)f * (size_t)gp->cap + (size_t)i], *column = x + (size_t)f * BLOCK;
            for (int c = 0; c < BLOCK; c++)
                row[c] += (column[c] - at) * (column[c] - at);
        }
        const double alike = gp->levels_alike[level][gp->level_of[i]];
        for (int c = 0; c < BLOCK; c++)
            row[c] = matern(row[c]) * alike;
    }
}

static void predict_block(const struct rb_gp *gp, double *k, double *mean, double *sd)
{
    memset(mean, 0, BLOCK * sizeof *mean);
    memset(sd, 0, BLOCK * sizeof *sd);
    for (int i = 0; i < gp->n_known; i++)
        for (int c = 0; c < BLOCK; c++)
            mean[c] += gp->alpha[i] * k[(size_t)i * BLOCK + (size_t)c];
    rb_factor_solve_lower_many(&gp->factor, k, BLOCK);
    for (int i = 0; i < gp->factor.n; i++)
        for (int c = 0; c < BLOCK; c++)
            sd[c] += k[(size_t)i * BLOCK + (size_t)c] * k[(size_t)i * BLOCK + (size_t)c];
    for (int c = 0; c < BLOCK; c++)
        sd[c] = gp->scale * sqrt(fmax(1e-12, 1 - sd[c]));
}

void rb_gp_predict(const struct rb_gp *gp, const double *const *u, int m, int level, double *out_mean, double *out_sd)
{
    double *k = rb_xcalloc((size_t)gp->cap * BLOCK, sizeof *k), mean[BLOCK], sd[BLOCK];
    double *x = rb_xcalloc((size_t)gp->n_features * BLOCK + 1, sizeof *x), own[RB_ENCODING_MAX];
    for (int first = 0; first < m; first += BLOCK) {
        const int n = m - first < BLOCK ? m - first : BLOCK;
        for (int c = 0; c < n; c++) {
            encode(gp, u[first + c], own);
            for (int f = 0; f < gp->n_features; f++)
                x[(size_t)f * BLOCK + (size_t)c] = own[f];
        }
        covariances(gp, x, level, k);
        predict_block(gp, k, mean, sd);
        memcpy(out_mean + first, mean, (size_t)n * sizeof *mean);
        memcpy(out_sd + first, sd, (size_t)n * sizeof *sd);
    }
    free(k);
    free(x);
}
