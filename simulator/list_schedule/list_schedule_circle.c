#include "simulator/list_schedule/list_schedule_circle.h"

#include <math.h>

#define LANES RB_CIRCLE_LANES

static void fill_turned(struct rb_schedule_circle *c, struct rb_arena *arena)
{
    c->turned = rb_arena_room(arena, (size_t)c->points * 2 * LANES, sizeof *c->turned);
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
    const int n = c->most + 1 - c->fewest;
    for (int b = 0; b < c->blocks; b++) {
        for (int k = 0; k < n; k++) {
            double *z = c->powers + ((size_t)b * (size_t)n + (size_t)k) * 2 * LANES;
            for (int i = 0; i < LANES; i++) {
                const int at = (int)((int64_t)(b * LANES + i) * (k + c->fewest) % c->points);
                z[i] = c->re[at];
                z[LANES + i] = c->im[at];
            }
        }
    }
}

static void fill_times(struct rb_schedule_circle *c)
{
    for (int l = 0; l < c->blocks * LANES; l++)
        c->times[l] = l >= c->kept ? 0 : 2 * l == c->points ? 1 : 2;
}

void rb_schedule_circle_make(struct rb_schedule_circle *c, int fewest, int most, int slots_per_node,
                             struct rb_arena *arena)
{
    const int points = c->points;
    c->blocks = (c->kept + LANES - 1) / LANES;
    c->fewest = fewest;
    c->most = most;
    c->re = rb_arena_room(arena, (size_t)points + LANES, sizeof *c->re);
    c->im = rb_arena_room(arena, (size_t)points + LANES, sizeof *c->im);
    for (int l = 0; l < points + LANES; l++) {
        c->re[l] = l < points ? cos(2 * 3.14159265358979323846 * l / points) : c->re[l - points];
        c->im[l] = l < points ? sin(2 * 3.14159265358979323846 * l / points) : c->im[l - points];
    }
    c->times = rb_arena_room(arena, (size_t)c->blocks * LANES, sizeof *c->times);
    fill_times(c);
    fill_turned(c, arena);
    c->powers = rb_arena_room(arena, (size_t)(most + 1 - fewest) * (size_t)c->blocks * 2 * LANES, sizeof *c->powers);
    fill_powers(c);
    c->peaks = rb_arena_room(arena, (size_t)slots_per_node + 1, sizeof *c->peaks);
    c->peaks[c->n_peaks++] = 0;
    for (int j = 1; j < slots_per_node; j++) {
        const int block = (int)((2 * (int64_t)j * points / slots_per_node + 1) / 2) / LANES;
        if (block < c->blocks && block > c->peaks[c->n_peaks - 1])
            c->peaks[c->n_peaks++] = block;
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
