#include "planner/quality/shape.h"

#include "engine/core/rungs.h"
#include "engine/tuners/brackets.h"

#include <math.h>
#include <string.h>

static void add_bracket(const struct rb_rung_table *table, int64_t max_resource, struct rb_search_shape *shape)
{
    struct rb_shape_bracket *b = &shape->brackets[shape->n++];
    b->n = table->n;
    for (int i = 0; i < table->n; i++)
        b->rungs[i] = (struct rb_shape_rung){table->rungs[i].trials,
                                             (double)table->rungs[i].resource_end / (double)max_resource};
}

static void shape_of_one(const struct rb_scheduler *s, struct rb_search_shape *out)
{
    struct rb_rung_table table;
    rb_rungs_one(s->num_trials, s->max_resource, &table);
    add_bracket(&table, s->max_resource, out);
}

static void shape_of_sha(const struct rb_scheduler *s, struct rb_search_shape *out)
{
    struct rb_rung_table table;
    rb_rungs_sha(s->num_trials, s->min_resource, s->max_resource, s->eta, s->rungs, &table);
    add_bracket(&table, s->max_resource, out);
}

static void shape_of_hyperband(const struct rb_scheduler *s, struct rb_search_shape *out)
{
    struct rb_rung_table table;
    for (int b = 0; b < s->brackets; b++) {
        rb_rungs_sha((int)rb_bracket_trials(s, b), rb_bracket_min_resource(s, b), s->max_resource, s->eta, s->rungs,
                     &table);
        add_bracket(&table, s->max_resource, out);
    }
    out->overlaps = s->brackets_run == RB_BRACKETS_SIDE_BY_SIDE;
}

static void shape_of_asha(const struct rb_scheduler *s, struct rb_search_shape *out)
{
    struct rb_bracket_shares shares;
    struct rb_levels levels;
    rb_levels_of(s, &levels);
    rb_bracket_shares_init(&shares, s);
    for (int i = 0; i < s->num_trials; i++)
        rb_bracket_shares_next(&shares);
    for (int b = 0; b < s->brackets; b++) {
        struct rb_rung_table table = {0};
        int64_t n = shares.given[b];
        if (n == 0)
            continue;
        for (int i = b; i < levels.n; i++, n /= s->eta)
            table.rungs[table.n++] = (struct rb_rung){.trials = n > 0 ? (int)n : 1, .resource_end = levels.resource[i]};
        add_bracket(&table, s->max_resource, out);
    }
    out->overlaps = true;
}

static const struct {
    const char *tuner;
    void (*shape)(const struct rb_scheduler *s, struct rb_search_shape *out);
} tuners[] = {
    {"asha", shape_of_asha},
    {"hyperband", shape_of_hyperband},
    {"random", shape_of_one},
    {"sha", shape_of_sha},
};

bool rb_search_shape_of(const struct rb_job *job, struct rb_search_shape *out, struct rb_err *err)
{
    for (size_t i = 0; i < sizeof tuners / sizeof tuners[0]; i++) {
        if (strcmp(tuners[i].tuner, job->scheduler.type) == 0) {
            out->n = 0;
            out->overlaps = false;
            tuners[i].shape(&job->scheduler, out);
            return true;
        }
    }
    return rb_err_set(err, RB_E_NOT_SUPPORTED,
                      "not supported yet: the expected best metric of scheduler.type: %s; it is known for asha, "
                      "hyperband, random and sha",
                      job->scheduler.type);
}

int rb_search_shape_trials(const struct rb_search_shape *shape)
{
    int n = 0;
    for (int b = 0; b < shape->n; b++)
        n += shape->brackets[b].rungs[0].trials;
    return n;
}

void rb_search_shape_scale(struct rb_search_shape *shape, double times)
{
    for (int b = 0; b < shape->n; b++) {
        for (int i = 0; i < shape->brackets[b].n; i++) {
            struct rb_shape_rung *rung = &shape->brackets[b].rungs[i];
            const long trials = lround(times * rung->trials);
            rung->trials = trials < 1 ? 1 : trials > RB_LIMIT_TRIALS ? RB_LIMIT_TRIALS : (int)trials;
        }
    }
}
