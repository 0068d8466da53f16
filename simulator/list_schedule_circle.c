#include "simulator/list_schedule_circle.h"

#include <math.h>

#define LANES RB_CIRCLE_LANES

static void fill_turned(struct rb_schedule_circle *c, struct rb_arena *arena)
{
    c->turned = rb_arena_array(arena, (size_t)c->points * 2 * LANES, sizeof *c->turned);
    for (int j = 0; j < c->points; j++) {
        for (int i = 0; i < LANES; i++) {
            const int at = i * j % c->points;
            c->turned[(size_t)j * 2 * LANES + (size_t)i] = c->re[at];
            c->turned[(size_t)j * 2 * LANES + LANES + (size_t)i] = c->im[at];
        }
    }
}

static void fill_powers(struct rb_schedule_circle *c)
{
    const int n_k = c->max_k + 1 - c->min_k;
    for (int b = 0; b < c->blocks; b++) {
        for (int k = 0; k < n_k; k++) {
            double *z = c->powers + ((size_t)b * (size_t)n_k + (size_t)k) * 2 * LANES;
            for (int i = 0; i < LANES; i++) {
                const int at = (int)((int64_t)(b * LANES + i) * (k + c->min_k + 1) % c->points);
                z[i] = c->re[at];
                z[LANES + i] = c->im[at];
            }
        }
    }
}

void rb_schedule_circle_make(struct rb_schedule_circle *c, int points, int kept, int min_k, int max_k,
                             int slots_per_node, struct rb_arena *arena)
{
    *c = (struct rb_schedule_circle){
        .points = points, .kept = kept, .blocks = (kept + LANES - 1) / LANES, .min_k = min_k, .max_k = max_k};
    c->re = rb_arena_array(arena, (size_t)points + LANES, sizeof *c->re);
    c->im = rb_arena_array(arena, (size_t)points + LANES, sizeof *c->im);
    for (int l = 0; l < points + LANES; l++) {
        c->re[l] = l < points ? cos(2 * 3.14159265358979323846 * l / points) : c->re[l - points];
        c->im[l] = l < points ? sin(2 * 3.14159265358979323846 * l / points) : c->im[l - points];
    }
    fill_turned(c, arena);
    c->powers = rb_arena_array(arena, (size_t)(max_k + 1 - min_k) * (size_t)c->blocks * 2 * LANES, sizeof *c->powers);
    fill_powers(c);
    c->peaks = rb_arena_array(arena, (size_t)c->blocks, sizeof *c->peaks);
    for (int j = 0; j < slots_per_node; j++) {
        const int at = (int)((int64_t)j * points / slots_per_node);
        for (int l = at - 2; l <= at + 3; l++) {
            if (l >= 0 && l < kept)
                c->peaks[l / LANES] = true;
        }
    }
}

double rb_schedule_power(double base, int exponent)
{
    double out = 1;
    for (; exponent > 0; exponent >>= 1, base *= base) {
        if (exponent & 1)
            out *= base;
    }
    return out;
}

struct rb_schedule_slot rb_schedule_slot_of(const struct rb_renewal *r, const double *chances, double dust)
{
    struct rb_schedule_slot s = {.p = chances, .from = r->min_k, .to = r->max_k};
    while (s.to > s.from && s.p[s.to - s.from] < dust)
        s.to--;
    while (s.from < s.to && *s.p < dust) {
        s.from++;
        s.p++;
    }
    double starts = 0;
    for (int k = s.from; k <= s.to; k++) {
        s.total += s.p[k - s.from];
        starts += s.p[k - s.from] * (k + 1);
    }
    s.mean = s.total > 0 ? starts / s.total : 0;
    return s;
}
