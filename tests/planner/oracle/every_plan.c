#include "every_plan.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_RUNS 256
#define MORE_PARTS  16 // times the most runs of a plan: for one that seems to undercut the other, but not for sure
#define KEPT_RUNS  16384
#define MEANS_FROM 1024 // runs: before that a mean of heavy tails says too little to rule a plan out

// ---- the space

// docs/MODEL.md, "Rungs".
static void list_stages(struct every_space *space, const struct rb_scheduler *s)
{
    int64_t trained = 0, end = s->min_resource;
    for (int n = s->num_trials;; n /= s->eta, end *= s->eta) {
        const bool last = n == 0 || end > s->max_resource / s->eta;
        space->stages[space->n_stages++] = (struct rb_plan_stage){
            .trials = n > 0 ? n : 1,
            .resource_start = trained,
            .resource_end = last ? s->max_resource : end,
            .trials_per_gpu = 1,
        };
        if (last)
            return;
        trained = end;
    }
}

static int nodes_for_all(int per_node, int trials, int gpus)
{
    if (gpus > per_node)
        return trials * ((gpus + per_node - 1) / per_node);
    return (trials + per_node / gpus - 1) / (per_node / gpus);
}

// What this stage or a later one can use, and a quarter more, two at least.
static int useful_nodes(const struct every_space *space, int stage, int offer)
{
    const struct rb_job *job = space->o->job;
    int useful = 0;
    double unit_s;
    for (int later = stage; later < space->n_stages; later++) {
        for (int i = 0; i < job->trial.n_sizes; i++) {
            if (!oracle_unit_s(space->o, offer, job->trial.sizes[i], &unit_s))
                continue;
            const int n = nodes_for_all(space->o->offers[offer].gpus, space->stages[later].trials, job->trial.sizes[i]);
            useful = n > useful ? n : useful;
        }
    }
    useful += useful / 4 > 2 ? useful / 4 : 2;
    return useful < job->resources.max_nodes ? useful : job->resources.max_nodes;
}

static bool list_choices(struct every_space *space, int stage)
{
    const struct rb_trial_spec *t = &space->o->job->trial;
    for (int offer = 0; offer < space->o->n_offers; offer++) {
        const int per_node = space->o->offers[offer].gpus, most = useful_nodes(space, stage, offer);
        for (int i = 0; i < t->n_sizes; i++) {
            double unit_s;
            if (!oracle_unit_s(space->o, offer, t->sizes[i], &unit_s))
                continue;
            for (int nodes = (t->sizes[i] + per_node - 1) / per_node; nodes <= most; nodes++) {
                if (space->n_choices[stage] == EVERY_CHOICES)
                    return false;
                space->choices[stage][space->n_choices[stage]++] = (struct every_choice){offer, t->sizes[i], nodes};
                space->max_nodes = nodes > space->max_nodes ? nodes : space->max_nodes;
            }
        }
    }
    return space->n_choices[stage] > 0;
}

bool every_space_init(struct every_space *space, const struct oracle *o)
{
    *space = (struct every_space){.o = o, .n_plans = 1};
    list_stages(space, &o->job->scheduler);
    for (int s = 0; s < space->n_stages; s++) {
        if (!list_choices(space, s))
            return false;
        space->n_plans *= space->n_choices[s];
    }
    return true;
}

void every_space_plan(const struct every_space *space, int64_t i, struct rb_plan_stage *out_stages,
                      struct rb_plan_nodes *out_nodes)
{
    for (int s = 0; s < space->n_stages; s++) {
        const struct every_choice *c = &space->choices[s][i % space->n_choices[s]];
        i /= space->n_choices[s];
        out_nodes[s] = (struct rb_plan_nodes){c->offer, c->nodes};
        out_stages[s] = space->stages[s];
        out_stages[s].gpus_per_trial = c->gpus;
        out_stages[s].nodes = &out_nodes[s];
        out_stages[s].n_nodes = 1;
    }
}

// ---- one plan beside the one that was found

struct tally {
    int64_t n, n_kept;
    double cost, own, difference, square; // sums; the difference is of the cost and what it would have to be
    double stage_us[RB_LIMIT_STAGES];
};

struct comparison {
    const struct every_space *space;
    const struct every_asked *asked;
    struct oracle_worlds *worlds;
    const struct oracle *own; // of the plan that was found
    const struct rb_plan_stage *own_stages; // NULL: there is none
    int64_t *own_uusd; // its costs, [n_own]
    int64_t n_own;
};

static bool play_own(struct comparison *c, int64_t until)
{
    struct oracle_run run;
    if (!c->own_stages || until <= c->n_own)
        return true;
    c->own_uusd = rb_xrealloc(c->own_uusd, (size_t)until, sizeof *c->own_uusd);
    for (; c->n_own < until; c->n_own++) {
        if (!oracle_play(c->own, c->worlds, c->own_stages, c->space->n_stages, (uint32_t)c->n_own, &run))
            return false;
        c->own_uusd[c->n_own] = run.cost_uusd;
    }
    return true;
}

static bool add_runs(const struct comparison *c, const struct rb_plan_stage *stages, int64_t until, struct tally *t)
{
    const struct every_asked *a = c->asked;
    struct oracle_run run;
    for (; t->n < until; t->n++) {
        if (!oracle_play(c->space->o, c->worlds, stages, c->space->n_stages, (uint32_t)t->n, &run))
            return false;
        t->n_kept += (a->deadline_us < 0 || run.time_us <= a->deadline_us) &&
                     (a->budget_uusd < 0 || run.cost_uusd <= a->budget_uusd);
        const double wanted = c->own_uusd ? (1 - a->tolerance) * (double)c->own_uusd[t->n] : INFINITY;
        const double difference = c->own_uusd ? (double)run.cost_uusd - wanted : -1;
        t->cost += (double)run.cost_uusd;
        t->own += c->own_uusd ? (double)c->own_uusd[t->n] : 0;
        t->difference += difference;
        t->square += difference * difference;
        for (int s = 0; s < c->space->n_stages; s++)
            t->stage_us[s] += (double)run.stage_us[s];
    }
    return true;
}

// Standard errors by which the share of runs that keep the constraints is above what is asked.
static double share_above(const struct tally *t, double asked)
{
    const double n = (double)t->n, p = (double)t->n_kept / n;
    return (p - asked) / sqrt((n * asked * (1 - asked) + 1) / (n * n));
}

// Standard errors by which the plan is cheaper than it may be.
static double cheaper_by(const struct tally *t)
{
    const double n = (double)t->n, mean = t->difference / n, variance = t->square / n - mean * mean;
    return variance > 0 ? -mean / sqrt(variance / n) : mean < 0 ? INFINITY : -INFINITY;
}

static bool is_out(const struct comparison *c, const struct tally *t)
{
    return share_above(t, c->asked->probability) < -c->asked->sure ||
           (c->own_uusd && t->n >= MEANS_FROM && cheaper_by(t) < -c->asked->sure);
}

// New nodes that on average only run once the stage has ended are early requests for a later one.
static bool is_in_space(const struct comparison *c, const struct rb_plan_stage *stages, const struct tally *t)
{
    for (int s = 0; s < c->space->n_stages; s++) {
        const struct rb_plan_nodes *now = stages[s].nodes, *before = s > 0 ? stages[s - 1].nodes : NULL;
        const bool gains = !before || before->offer != now->offer || before->count < now->count;
        if (gains && oracle_queue_mean_s(c->space->o, now->offer) * 1e6 >= t->stage_us[s] / (double)t->n)
            return false;
    }
    return true;
}

// What was seen of a plan that nothing rules out.
static void judge(const struct comparison *c, int64_t number, const struct tally *t, struct every_found *out)
{
    const double above = share_above(t, c->asked->probability), cheaper = cheaper_by(t);
    const double undercut = c->own_uusd ? 1 - t->cost / t->own : 1;
    const double p = (double)t->n_kept / (double)t->n;
    const bool surely = above > c->asked->sure && (!c->own_uusd || cheaper > c->asked->sure);
    if (above <= 0 || out->surely > surely)
        return;
    if (surely > out->surely || (c->own_uusd ? undercut > out->undercut : p > out->p)) {
        out->surely = surely;
        out->undercut = undercut;
        out->p = p;
        out->number = number;
    }
}

// True if it looks as if the plan undercut the other one, but not for sure.
static bool is_doubtful(const struct comparison *c, const struct tally *t)
{
    const double above = share_above(t, c->asked->probability), cheaper = c->own_uusd ? cheaper_by(t) : INFINITY;
    return above > 0 && cheaper > 0 && (above <= c->asked->sure || cheaper <= c->asked->sure);
}

// A doubtful plan gets more runs than the others: of thousands of plans some seem cheaper by chance.
static bool look_at(struct comparison *c, int64_t number, struct every_found *out)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    struct tally t = {0};
    every_space_plan(c->space, number, stages, nodes);
    const int64_t most = c->asked->most_runs;
    for (int64_t until = FIRST_RUNS; until <= most || (until <= MORE_PARTS * most && is_doubtful(c, &t)); until *= 4) {
        if (!play_own(c, until))
            return false;
        if (!add_runs(c, stages, until, &t))
            return true; // it has no end that the oracle could wait for
        if (is_out(c, &t) || !is_in_space(c, stages, &t))
            return true;
    }
    judge(c, number, &t, out);
    return true;
}

bool every_plan_undercuts(const struct every_space *space, const struct every_asked *asked, const struct oracle *own,
                          const struct rb_plan_stage *stages, struct every_found *out)
{
    struct comparison c = {.space = space, .asked = asked, .own = own, .own_stages = stages};
    bool ok = true;
    const int kept = asked->most_runs < KEPT_RUNS ? asked->most_runs : KEPT_RUNS;
    *out = (struct every_found){.n_plans = (int64_t)space->n_plans, .number = -1};
    c.worlds = oracle_worlds_create(space->o, space->stages, space->n_stages, space->max_nodes, kept);
    // The worlds are those of the space's offers; an oracle of fewer offers has the same entries.
    for (int64_t i = 0; ok && i < out->n_plans; i++)
        ok = look_at(&c, i, out);
    free(c.own_uusd);
    oracle_worlds_destroy(c.worlds);
    return ok;
}
