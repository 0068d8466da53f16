#include "planner/quality/drawn.h"

#include "base/arena.h"
#include "base/stream.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdlib.h>

void rb_drawn_init(struct rb_drawn *d, const struct rb_quality_law *law, const struct rb_search_shape *shape,
                   uint64_t seed)
{
    int most = 0;
    for (int b = 0; b < shape->n; b++)
        if (shape->brackets[b].rungs[0].trials > most)
            most = shape->brackets[b].rungs[0].trials;
    *d = (struct rb_drawn){law, shape, seed, 1, rb_xcalloc((size_t)most, sizeof *d->trials)};
}

void rb_drawn_finish(struct rb_drawn *d)
{
    free(d->trials);
}

// ---- scores at a rung

// How much less than usual results predict in this draw: one number, because jobs differ as a whole.
static double draw_power(const struct rb_drawn *d, uint32_t k)
{
    const struct rb_stream_key key = {.seed = d->seed, .purpose = RB_DRAW_QUALITY, .stage = RB_LIMIT_STAGES,
                                      .replicate = k};
    return d->law->spread > 0 ? exp(d->law->spread * rb_normal_quantile(rb_stream_first_uniform(&key))) : 1;
}

static double correlation(const struct rb_drawn *d, double share)
{
    const double rho = rb_quality_correlation(d->law, share);
    return d->power == 1 ? rho : pow(rho, d->power);
}

// z belongs to a trial and not to a shape, so that shapes are compared on the same configurations.
static void draw_first(const struct rb_drawn *d, uint32_t k, int first_trial, const struct rb_shape_bracket *b)
{
    const double rho = correlation(d, b->rungs[0].share), noise = sqrt(fmax(0, 1 - rho * rho));
    for (int i = 0; i < b->rungs[0].trials; i++) {
        const struct rb_stream_key key = {.seed = d->seed, .purpose = RB_DRAW_QUALITY,
                                          .index = (uint32_t)(first_trial + i), .replicate = k};
        struct rb_stream s;
        rb_stream_init(&s, &key);
        const double z = rb_normal_quantile(rb_stream_uniform(&s));
        const double y = noise > 0 ? rho * z + noise * rb_normal_quantile(rb_stream_uniform(&s)) : z;
        d->trials[i] = (struct rb_drawn_trial){first_trial + i, y, z};
    }
}

// The score at a later share given that at an earlier one and the final one: regression on both.
struct step {
    double of_y, of_z, noise;
};

static struct step step_between(const struct rb_drawn *d, double share, double later_share)
{
    const double rho = correlation(d, share), later = correlation(d, later_share);
    const double rest = 1 - rho * rho, between = later > 0 ? rho / later : 0;
    if (later >= 1 || rest < 1e-12)
        return (struct step){0, 1, 0};
    struct step s = {(between - later * rho) / rest, (later - between * rho) / rest, 0};
    s.noise = sqrt(fmax(0, 1 - s.of_y * between - s.of_z * later));
    return s;
}

static void draw_next(const struct rb_drawn *d, uint32_t k, int rung, const struct step *step, int n)
{
    for (int i = 0; i < n; i++) {
        struct rb_drawn_trial *t = &d->trials[i];
        const struct rb_stream_key key = {.seed = d->seed, .purpose = RB_DRAW_QUALITY, .stage = (uint32_t)rung,
                                          .index = (uint32_t)t->trial, .replicate = k};
        t->y = step->of_y * t->y + step->of_z * t->z;
        if (step->noise > 0)
            t->y += step->noise * rb_normal_quantile(rb_stream_first_uniform(&key));
    }
}

// ---- who trains on

// Moves the `most` best of n by y to the front (Hoare's selection).
static void select_best(struct rb_drawn_trial *t, int n, int most)
{
    int low = 0, high = n - 1;
    while (low < high) {
        const double pivot = t[low + (high - low) / 2].y;
        int i = low, j = high;
        while (i <= j) {
            while (t[i].y > pivot)
                i++;
            while (t[j].y < pivot)
                j--;
            if (i <= j) {
                const struct rb_drawn_trial swap = t[i];
                t[i++] = t[j];
                t[j--] = swap;
            }
        }
        if (most <= j + 1)
            high = j;
        else if (most > i)
            low = i;
        else
            return;
    }
}

static int by_trial(const void *pa, const void *pb)
{
    const struct rb_drawn_trial *a = pa, *b = pb;
    return (a->trial > b->trial) - (a->trial < b->trial);
}

static double best_of(const struct rb_drawn_trial *t, int n)
{
    double best = -INFINITY;
    for (int i = 0; i < n; i++)
        if (t[i].z > best)
            best = t[i].z;
    return best;
}

double rb_drawn_play(struct rb_drawn *d, uint32_t k, rb_drawn_rung *rung, void *ctx)
{
    double best = -INFINITY;
    int first_trial = 0;
    d->power = draw_power(d, k);
    for (int b = 0; b < d->shape->n; b++) {
        const struct rb_shape_bracket *bracket = &d->shape->brackets[b];
        const struct rb_shape_rung *r = bracket->rungs;
        draw_first(d, k, first_trial, bracket);
        first_trial += r[0].trials;
        if (rung)
            rung(ctx, b, 0, d->trials, r[0].trials);
        for (int i = 1; i < bracket->n; i++) {
            const struct step step = step_between(d, r[i - 1].share, r[i].share);
            select_best(d->trials, r[i - 1].trials, r[i].trials);
            draw_next(d, k, i, &step, r[i].trials);
            if (rung) {
                qsort(d->trials, (size_t)r[i].trials, sizeof *d->trials, by_trial);
                rung(ctx, b, i, d->trials, r[i].trials);
            }
        }
        best = fmax(best, best_of(d->trials, r[bracket->n - 1].trials));
    }
    return best;
}
