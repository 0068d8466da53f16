#include "planner/search/exchange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS 400000 // changes of two stages per pass; above it only neighbouring stages are changed

static const struct rb_option_entry *entry_at(const struct rb_options *o, const struct rb_path *path, int stage)
{
    if (stage < 0 || stage >= o->n_stages)
        return NULL;
    return &o->stages[stage].entries[path->entry[stage]];
}

static const struct rb_stage_sample *sample_at(const struct rb_options *o, const struct rb_path *path, int stage)
{
    return rb_option_sample(entry_at(o, path, stage - 1), entry_at(o, path, stage));
}

struct sums {
    double objective, time_low, cost_low;
};

static struct sums sum_path(const struct rb_optimum *op, const struct rb_path *path)
{
    struct sums s = {0};
    for (int stage = 0; stage < op->options.n_stages; stage++) {
        const struct rb_stage_sample *sample = sample_at(&op->options, path, stage);
        s.objective += rb_sample_objective(op, sample);
        s.time_low += sample->time_low_us;
        s.cost_low += sample->cost_low_uusd;
    }
    return s;
}

// A necessary condition for plans that beat the best, without reading the replicates.
static bool worth_a_look(const struct rb_optimum *op, const struct sums *s)
{
    const struct rb_aim *aim = &op->aim;
    switch (aim->kind) {
    case RB_AIM_OBJECTIVE:
        return s->objective < aim->best && s->time_low <= aim->time_limit_us && s->cost_low <= aim->cost_limit_uusd;
    case RB_AIM_DEADLINE:
        return s->time_low < aim->best && s->cost_low <= aim->cost_limit_uusd;
    case RB_AIM_BUDGET:
        return s->cost_low < aim->best && s->time_low <= aim->time_limit_us;
    case RB_AIM_CONFIDENCE:
        break;
    }
    return true;
}

static bool offer_if_worth(struct rb_optimum *op, const struct rb_path *path, bool *out_better, struct rb_err *err)
{
    struct sums s = sum_path(op, path);
    *out_better = false;
    if (worth_a_look(op, &s))
        return rb_optimum_offer(op, path, out_better, err);
    op->n_ruled_out++;
    return true;
}

static bool change_one(struct rb_optimum *op, bool *out_better, struct rb_err *err)
{
    *out_better = false;
    for (int stage = 0; stage < op->options.n_stages; stage++) {
        struct rb_path path = op->path;
        for (int i = 0; i < op->options.stages[stage].n; i++) {
            bool better;
            path.entry[stage] = i;
            if (i == op->path.entry[stage])
                continue;
            if (!offer_if_worth(op, &path, &better, err))
                return false;
            *out_better = *out_better || better;
        }
    }
    return true;
}

static bool change_pair(struct rb_optimum *op, int a, int b, bool *out_better, struct rb_err *err)
{
    struct rb_path path = op->path;
    for (int i = 0; i < op->options.stages[a].n && !rb_optimum_out_of_time(op); i++) {
        path.entry[a] = i;
        for (int j = 0; j < op->options.stages[b].n; j++) {
            bool better;
            path.entry[b] = j;
            if (!offer_if_worth(op, &path, &better, err))
                return false;
            *out_better = *out_better || better;
        }
    }
    return true;
}

static bool change_two(struct rb_optimum *op, bool *out_better, struct rb_err *err)
{
    const struct rb_options *o = &op->options;
    double pairs = 0;
    for (int a = 0; a < o->n_stages; a++) {
        for (int b = a + 1; b < o->n_stages; b++)
            pairs += (double)o->stages[a].n * o->stages[b].n;
    }
    *out_better = false;
    for (int a = 0; a < o->n_stages; a++) {
        int last = pairs > PAIRS && a + 2 < o->n_stages ? a + 2 : o->n_stages;
        for (int b = a + 1; b < last; b++) {
            if (!change_pair(op, a, b, out_better, err))
                return false;
        }
    }
    return true;
}

bool rb_exchange(struct rb_optimum *op, struct rb_err *err)
{
    bool better = true;
    while (better && op->has_path && !rb_optimum_out_of_time(op)) {
        if (!change_one(op, &better, err))
            return false;
        if (!better && !change_two(op, &better, err))
            return false;
    }
    return true;
}
