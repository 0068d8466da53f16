#include "bench/spot/table.h"

#include "base/text/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US_PER_MIN (60 * RB_US_PER_S)

void must(bool ok, const struct rb_err *err)
{
    if (ok)
        return;
    fprintf(stderr, "spot: %s\n", err->message);
    exit(1);
}

static const char *cell(const struct rb_csv *csv, int row, const char *column)
{
    const int at = rb_csv_column(csv, column);
    if (at < 0) {
        fprintf(stderr, "spot: %s has no column %s\n", csv->file, column);
        exit(1);
    }
    return csv->cells[row][at];
}

static void read_steps(const struct rb_csv *csv, const char *set, const char *name, int least, int times,
                       struct rb_arena *arena, struct rb_capacity *out)
{
    struct rb_capacity_step *steps = rb_arena_array(arena, (size_t)csv->n_rows, sizeof *steps);
    *out =
        (struct rb_capacity){.zone = name, .region = rb_arena_strndup(arena, name, strlen(name) - 1), .steps = steps};
    for (int row = 0; row < csv->n_rows; row++) {
        if (strcmp(cell(csv, row, "set"), set) != 0 || strcmp(cell(csv, row, "zone"), name) != 0)
            continue;
        const int64_t at_us = atoi(cell(csv, row, "start_min")) * US_PER_MIN;
        const int capacity = atoi(cell(csv, row, "capacity")), up = least == 0          ? capacity
                                                                    : capacity >= least ? times
                                                                                        : 0;
        out->instance_type = cell(csv, row, "instance_type");
        out->end_us = at_us;
        if (strcmp(cell(csv, row, "capacity"), "end") != 0 && (out->n_steps == 0 || steps[out->n_steps - 1].up != up))
            steps[out->n_steps++] = (struct rb_capacity_step){at_us, up};
    }
    if (out->n_steps == 0) {
        fprintf(stderr, "spot: %s has no zone %s of set %s\n", csv->file, name, set);
        exit(1);
    }
}

static void spread(struct spot_zone *z, struct rb_arena *arena)
{
    const struct rb_capacity *c = &z->whole;
    z->minutes = (int)(c->end_us / US_PER_MIN);
    z->capacity = rb_arena_array(arena, (size_t)z->minutes, sizeof *z->capacity);
    for (int i = 0; i < c->n_steps; i++) {
        const int to = i + 1 < c->n_steps ? (int)(c->steps[i + 1].at_us / US_PER_MIN) : z->minutes;
        for (int m = (int)(c->steps[i].at_us / US_PER_MIN); m < to; m++)
            z->capacity[m] = (int16_t)c->steps[i].up;
        z->n_slots = c->steps[i].up > z->n_slots ? c->steps[i].up : z->n_slots;
    }
    z->n_slots++; // one that never comes up
    z->since = rb_arena_array(arena, (size_t)z->minutes * (size_t)z->n_slots, sizeof *z->since);
    for (int slot = 0; slot < z->n_slots; slot++) {
        int32_t *since = z->since + (size_t)slot * (size_t)z->minutes;
        for (int m = 1; m < z->minutes; m++)
            since[m] = (z->capacity[m] > slot) == (z->capacity[m - 1] > slot) ? since[m - 1] : m;
    }
}

void spot_zones_read(const struct rb_csv *csv, const char *set, const char *const *names, int least, int times,
                     struct rb_arena *arena, struct spot_zone *out)
{
    for (int i = 0; names[i]; i++) {
        out[i] = (struct spot_zone){0};
        read_steps(csv, set, names[i], least, times, arena, &out[i].whole);
        spread(&out[i], arena);
    }
}

struct rb_spells spot_zone_fit(const struct spot_zone *zones, int n, int which, int minutes, struct rb_arena *arena)
{
    struct rb_capacity seen[MOST_ZONES];
    struct rb_spells s;
    struct rb_err err = {0};
    for (int i = 0; i < n; i++) {
        seen[i] = zones[i].whole;
        while (seen[i].n_steps > 1 && seen[i].steps[seen[i].n_steps - 1].at_us >= minutes * US_PER_MIN)
            seen[i].n_steps--;
        seen[i].end_us = minutes * US_PER_MIN;
    }
    must(rb_market_fit(seen, n, which, 180, 1, arena, &s, &err), &err);
    return s;
}
