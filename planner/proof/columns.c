#include "planner/proof/paths.h"

#include "planner/async/endless.h"
#include "planner/request/memory.h"
#include "simulator/laws/trial_law.h"
#include "simulator/laws/trial_laws.h"
#include "simulator/sampler/table_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORTH_IT 1.5 // some of the columns that wait are dropped before they are sampled

static const double tilts[RB_COLUMNS_TILTS] = {0, 1, 2}; // standard deviations by which the weights move a mean

struct rb_column *rb_columns_after(const struct rb_columns *c, int stage, int before,
                                   const struct rb_column_choice *choice)
{
    return &choice->columns[stage == 0 ? 0
                                       : rb_choice_kept(&c->stages[stage - 1].choices[before].choice, &choice->choice)];
}

// ---- the space, and what a theorem says of it

// Lower bound on the mean cost of a stage, however many nodes are inherited: nodes are billed for at least the work
// done on them, and all of them until one trial has ended, except for their queueing delay. A trial that goes on from a save on
// another node may get a faster one, so that nothing is said of its work.
static double floor_uusd(const struct rb_search *search, int stage, const struct rb_choice *choice)
{
    const struct rb_sim_offer *o = &search->scenario->sim_offers[choice->offer];
    const int per_node = o->offer->gpus, n_trials = rb_search_n_trials(search, stage);
    const double nodes_a_trial =
        choice->gpus > per_node ? rb_nodes_per_trial(per_node, choice->gpus) : 1.0 / (per_node / choice->gpus);
    double trial_s;
    if (o->save_every_s > 0 || !rb_search_trial_s(search, stage, choice->offer, choice->gpus, &trial_s))
        return 0;
    const double work_s = n_trials * nodes_a_trial * trial_s;
    const double all_s = choice->nodes * (fmax(trial_s, work_s / choice->nodes) - rb_queue_mean_s(o->provisioning));
    return (double)rb_bill_uusd_per_hour(&o->billing) / (double)RB_S_PER_HOUR * fmax(work_s, all_s);
}

static double least_work_of_stage(const struct rb_search *search, int stage)
{
    double least_uusd = INFINITY;
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        int sizes[RB_LIMIT_GPUS_PER_NODE];
        const int n = rb_planner_sizes(search->scenario, offer, sizes); // also of offers that a limit leaves out
        for (int i = 0; i < n; i++) {
            const int nodes = rb_nodes_per_trial(rb_search_gpus_per_node(search, offer), sizes[i]);
            const struct rb_choice one = {offer, sizes[i], nodes};
            least_uusd = fmin(least_uusd, floor_uusd(search, stage, &one));
        }
    }
    return isinf(least_uusd) ? 0 : least_uusd;
}

double rb_least_work_uusd(const struct rb_search *search)
{
    double sum_uusd = 0;
    for (int stage = 0; stage < search->scenario->stages.n; stage++)
        sum_uusd += least_work_of_stage(search, stage);
    return sum_uusd;
}

static bool is_listed(const struct rb_search *search, int stage, const struct rb_choice *c)
{
    return rb_nodes_per_trial(rb_search_gpus_per_node(search, c->offer), c->gpus) <= c->nodes &&
           !rb_is_endless(search, stage, c->offer, c->gpus);
}

static int list_choices(const struct rb_search *search, int stage, struct rb_column_choice *out)
{
    int n = 0;
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        const struct rb_sizes *sizes = &search->sizes[offer];
        const int most =
            sizes->n > 0 && !rb_search_is_outbid(search, offer) ? rb_search_useful_nodes(search, stage, offer) : 0;
        for (int nodes = 1; nodes <= most; nodes++) {
            for (int i = 0; i < sizes->n; i++) {
                const struct rb_choice choice = {offer, sizes->gpus[i], nodes};
                if (!is_listed(search, stage, &choice))
                    continue;
                if (out)
                    out[n].choice = choice;
                n++;
            }
        }
    }
    return n;
}

static void group_by_offer(struct rb_column_stage *s)
{
    s->groups = rb_xcalloc((size_t)s->n + 1, sizeof *s->groups);
    for (int i = 0; i < s->n; i++) {
        const struct rb_choice *choice = &s->choices[i].choice;
        if (i == 0 || choice->offer != s->choices[i - 1].choice.offer)
            s->groups[s->n_groups++] = (struct rb_column_group){.offer = choice->offer, .first = i};
        struct rb_column_group *g = &s->groups[s->n_groups - 1];
        g->end = i + 1;
        g->most = choice->nodes > g->most ? choice->nodes : g->most;
    }
    for (int g = 0; g < s->n_groups; g++) {
        s->groups[g].some = rb_xcalloc((size_t)s->groups[g].most + 1, sizeof(double));
        s->groups[g].all = rb_xcalloc((size_t)s->groups[g].most + 1, sizeof(double));
    }
}

void rb_columns_init(struct rb_columns *c, struct rb_search *search, double most_effort)
{
    *c = (struct rb_columns){.search = search, .n_stages = search->scenario->stages.n, .most_effort = most_effort};
    for (int stage = 0; stage < c->n_stages; stage++) {
        struct rb_column_stage *s = &c->stages[stage];
        s->choices = rb_xcalloc((size_t)list_choices(search, stage, NULL) + 1, sizeof *s->choices);
        s->n = list_choices(search, stage, s->choices);
        for (int i = 0; i < s->n; i++) {
            const int n = stage == 0 ? 1 : s->choices[i].choice.nodes + 1;
            s->choices[i].columns = rb_xcalloc((size_t)n, sizeof *s->choices[i].columns);
            for (int kept = 0; kept < n; kept++)
                s->choices[i].columns[kept].more_uusd = -INFINITY;
            s->choices[i].high = n - 1;
            c->n_columns += n;
        }
        group_by_offer(s);
        for (int k = 0; k < RB_COLUMNS_PRICES; k++)
            c->to_go[k][stage] = rb_xcalloc((size_t)s->n + 1, sizeof **c->to_go[k]);
    }
}

void rb_columns_finish(struct rb_columns *c)
{
    for (int stage = 0; stage < c->n_stages; stage++) {
        for (int i = 0; i < c->stages[stage].n; i++)
            free(c->stages[stage].choices[i].columns);
        for (int g = 0; g < c->stages[stage].n_groups; g++) {
            free(c->stages[stage].groups[g].some);
            free(c->stages[stage].groups[g].all);
        }
        free(c->stages[stage].groups);
        free(c->stages[stage].choices);
        free(c->stages[stage].part_us);
        free(c->stages[stage].least_us);
        for (int k = 0; k < RB_COLUMNS_PRICES; k++)
            free(c->to_go[k][stage]);
    }
    for (int t = 0; t < RB_COLUMNS_TILTS; t++)
        free(c->weights[t]);
    free(c->values);
    rb_stage_samples_destroy(c->samples);
    *c = (struct rb_columns){0};
}

// ---- effort

static bool is_by_parts(const struct rb_columns *c, int stage, const struct rb_choice *choice)
{
    const struct rb_plan_nodes nodes = {choice->offer, choice->nodes};
    const struct rb_plan_stage plan = rb_scenario_stage(c->search->scenario, stage, choice->gpus, &nodes);
    return !rb_table_runs_apply(c->search->scenario, &plan, 1, stage, rb_trial_laws_tables(c->search->laws));
}

static double effort_of(const struct rb_columns *c, int stage, const struct rb_choice *choice)
{
    return (rb_search_n_trials(c->search, stage) + 4) * (is_by_parts(c, stage, choice) ? RB_COLUMNS_BY_PARTS : 1.0);
}

static int count_left(const struct rb_column_choice *choice, bool only_waiting)
{
    int n = 0;
    for (int kept = choice->low; kept <= choice->high; kept++)
        n += !choice->columns[kept].dropped && !(only_waiting && choice->columns[kept].sample);
    return n;
}

double rb_columns_effort(const struct rb_columns *c, int n)
{
    double trials = 0;
    for (int stage = 0; stage < c->n_stages; stage++) {
        for (int i = 0; i < c->stages[stage].n; i++) {
            const struct rb_column_choice *choice = &c->stages[stage].choices[i];
            const int left = count_left(choice, false);
            trials += left > 0 ? left * effort_of(c, stage, &choice->choice) : 0;
        }
    }
    return trials * n;
}

bool rb_columns_fit(const struct rb_columns *c, int n)
{
    double left = 0;
    for (int stage = 0; stage < c->n_stages; stage++)
        for (int i = 0; i < c->stages[stage].n; i++)
            left += count_left(&c->stages[stage].choices[i], false);
    return rb_table_bytes(left, n) <= rb_search_memory_for_tables(c->search);
}

// ---- samples

double rb_columns_slack(const double *values, const double *minus, int n, double sigma)
{
    double sum = 0, squares = 0;
    for (int r = 0; r < n; r++)
        sum += values[r] - (minus ? minus[r] : 0);
    for (int r = 0; r < n; r++) {
        const double off = values[r] - (minus ? minus[r] : 0) - sum / n;
        squares += off * off;
    }
    return sigma * sqrt(squares / ((double)n * fmax(1, n - 1)));
}

// With fewer nodes inherited, a stage is not faster, and costs at most the queueing delays of the other nodes less. Times
// are those of the last sample, never the most of several, so that all bounds are about the same runs of a plan.
static void bound_fewer_inherited(const struct rb_columns *c, struct rb_column_choice *choice, int kept)
{
    const struct rb_sim_offer *o = &c->search->scenario->sim_offers[choice->choice.offer];
    const double uusd_per_s = (double)rb_bill_uusd_per_hour(&o->billing) / (double)RB_S_PER_HOUR;
    const double less_uusd = uusd_per_s * rb_queue_mean_s(o->provisioning);
    if (rb_provisioning_may_lose(o->provisioning))
        return; // an early node may also be lost early
    choice->last = choice->columns[kept].sample;
    for (int k = 0; k < kept; k++) {
        struct rb_column *fewer = &choice->columns[k];
        fewer->more_uusd = fmax(fewer->more_uusd, choice->columns[kept].more_uusd - (kept - k) * less_uusd);
        for (int t = 0; t < RB_COLUMNS_TILTS; t++)
            fewer->least_us[t] = choice->columns[kept].least_us[t];
    }
}

// Weighted mean of the times of a stage, except that in as many worlds as may be late, those in which it makes the most
// difference, it is at most its part of the deadline. So over all stages of a plan that is in time, these sum to at
// most the deadline.
static double least_time(const struct rb_columns *c, int stage, const struct rb_stage_sample *s, int tilt)
{
    const double *part_us = c->stages[stage].part_us, *weights = c->weights[tilt];
    const int n = c->n_worlds, n_late = n - c->need;
    double sum = 0;
    int n_beyond = 0;
    for (int r = 0; r < n; r++) {
        sum += weights[r] * s->time_us[r];
        if (s->time_us[r] > part_us[r])
            c->values[n_beyond++] = weights[r] * (part_us[r] - s->time_us[r]);
    }
    if (n_beyond > n_late)
        rb_select_low(c->values, n_beyond, n_late);
    for (int r = 0; r < n_beyond && r < n_late; r++)
        sum += c->values[r];
    return sum / n;
}

// Cost: relative to the best plan's column of the same stage, so that their common part cancels.
static bool sample(struct rb_columns *c, int stage, struct rb_column_choice *choice, int kept, struct rb_err *err)
{
    struct rb_column *column = &choice->columns[kept];
    const struct rb_stage_sample *best = c->stages[stage].best;
    const struct rb_stage_sample *s = rb_stage_samples_get(c->samples, stage, &choice->choice, kept, err);
    if (!s)
        return false;
    column->sample = s;
    column->more_uusd =
        fmax(column->more_uusd, s->cost_mean_uusd - best->cost_mean_uusd -
                                    rb_columns_slack(s->cost_uusd, best->cost_uusd, c->n_worlds, c->sigma));
    const double unsure_us = c->search->on_average ? rb_columns_slack(s->time_us, NULL, c->n_worlds, c->sigma) : 0;
    for (int t = 0; t < RB_COLUMNS_TILTS; t++)
        column->least_us[t] = least_time(c, stage, s, t) - unsure_us;
    bound_fewer_inherited(c, choice, kept);
    return true;
}

static void begin_stage(struct rb_columns *c, int stage)
{
    const struct rb_stage_sample *best = c->stages[stage].best;
    const double best_uusd = best->cost_mean_uusd + rb_columns_slack(best->cost_uusd, NULL, c->n_worlds, c->sigma);
    for (int i = 0; i < c->stages[stage].n; i++) {
        struct rb_column_choice *choice = &c->stages[stage].choices[i];
        const double more_uusd = floor_uusd(c->search, stage, &choice->choice) - best_uusd;
        choice->last = NULL;
        for (int kept = choice->low; kept <= choice->high; kept++) {
            choice->columns[kept].sample = NULL;
            choice->columns[kept].more_uusd = fmax(choice->columns[kept].more_uusd, more_uusd);
            memset(choice->columns[kept].least_us, 0, sizeof choice->columns[kept].least_us);
        }
    }
}

// Worlds that are slow for the best plan get more weight, because plans that are as slow are late there. Each stage's
// part of the deadline is its part of the best plan's time.
static void weigh_worlds(struct rb_columns *c)
{
    const int n = c->n_worlds;
    const double deadline_us = rb_columns_deadline_us(c);
    double mean = 0, squares = 0;
    RB_AUTO(rb_auto_free) double *time = rb_xcalloc((size_t)n, sizeof *time);
    for (int stage = 0; stage < c->n_stages; stage++)
        for (int r = 0; r < n; r++)
            time[r] += c->stages[stage].best->time_us[r];
    for (int r = 0; r < n; r++)
        mean += time[r] / n;
    for (int r = 0; r < n; r++)
        squares += (time[r] - mean) * (time[r] - mean);
    const double sd = sqrt(squares / n);
    for (int t = 0; t < RB_COLUMNS_TILTS; t++) {
        double sum = 0;
        c->weights[t] = rb_xrealloc(c->weights[t], (size_t)n, sizeof **c->weights);
        for (int r = 0; r < n; r++)
            sum += c->weights[t][r] =
                sd > 0 && !c->search->on_average ? exp(tilts[t] * fmin(4, (time[r] - mean) / sd)) : 1;
        for (int r = 0; r < n; r++)
            c->weights[t][r] *= n / sum;
    }
    for (int stage = 0; stage < c->n_stages; stage++) {
        double *part_us = c->stages[stage].part_us = rb_xrealloc(c->stages[stage].part_us, (size_t)n, sizeof *part_us);
        c->stages[stage].least_us = rb_xrealloc(c->stages[stage].least_us, (size_t)n, sizeof *part_us);
        for (int r = 0; r < n; r++)
            part_us[r] = deadline_us * c->stages[stage].best->time_us[r] / time[r];
    }
    c->values = rb_xrealloc(c->values, (size_t)n, sizeof *c->values);
}

bool rb_columns_begin(struct rb_columns *c, const struct rb_candidate *best, int n, int need, struct rb_err *err)
{
    rb_stage_samples_destroy(c->samples);
    c->samples = rb_stage_samples_create(c->search, n, 0);
    c->n_worlds = n;
    c->n_sampled = c->n_stages;
    c->need = need;
    for (int stage = 0; stage < c->n_stages; stage++) {
        const struct rb_choice *choice = &best->stages[stage];
        c->stages[stage].best =
            rb_stage_samples_get(c->samples, stage, choice, rb_choice_kept(stage > 0 ? choice - 1 : NULL, choice), err);
        if (!c->stages[stage].best)
            return false;
        begin_stage(c, stage);
    }
    weigh_worlds(c);
    return true;
}

// ---- what is late whatever the other stages are

static void keep_least(double *least_us, const struct rb_stage_sample *s, int n)
{
    for (int r = 0; r < n; r++)
        least_us[r] = !s ? 0 : s->time_us[r] < least_us[r] ? s->time_us[r] : least_us[r];
}

static void fill_least_times(struct rb_columns *c, struct rb_column_stage *s)
{
    for (int r = 0; r < c->n_worlds; r++)
        s->least_us[r] = INFINITY;
    for (int i = 0; i < s->n; i++) {
        const struct rb_column_choice *choice = &s->choices[i];
        bool waits = false;
        for (int kept = choice->low; kept <= choice->high; kept++) {
            const struct rb_column *column = &choice->columns[kept];
            if (column->sample)
                keep_least(s->least_us, column->sample, c->n_worlds);
            waits = waits || (!column->dropped && !column->sample);
        }
        if (waits)
            keep_least(s->least_us, choice->last, c->n_worlds);
    }
}

static bool is_late(const struct rb_columns *c, const struct rb_stage_sample *s, const double *others_us)
{
    const double deadline_us = rb_columns_deadline_us(c);
    int n_in_time = 0;
    for (int r = 0; s && r < c->n_worlds; r++)
        n_in_time += s->time_us[r] + others_us[r] <= deadline_us;
    return s && n_in_time < c->need;
}

static void drop_late_of_choice(struct rb_columns *c, struct rb_column_choice *choice, const double *others_us)
{
    const bool last_is_late = is_late(c, choice->last, others_us);
    for (int kept = choice->low; kept <= choice->high; kept++) {
        struct rb_column *column = &choice->columns[kept];
        if (!column->dropped && (column->sample ? is_late(c, column->sample, others_us) : last_is_late)) {
            column->dropped = true;
            column->sample = NULL;
        }
    }
}

// Drops columns that are in time in too few worlds even if every other stage takes its least time in each world.
static void drop_late(struct rb_columns *c)
{
    RB_AUTO(rb_auto_free) double *all_us = rb_xcalloc((size_t)c->n_worlds, sizeof *all_us);
    RB_AUTO(rb_auto_free) double *others_us = rb_xcalloc((size_t)c->n_worlds, sizeof *others_us);
    for (int stage = 0; stage < c->n_stages; stage++) {
        fill_least_times(c, &c->stages[stage]);
        for (int r = 0; r < c->n_worlds; r++)
            all_us[r] += c->stages[stage].least_us[r];
    }
    for (int stage = 0; stage < c->n_stages && c->search->req->deadline_us >= 0 && !c->search->on_average; stage++) {
        for (int r = 0; r < c->n_worlds; r++)
            others_us[r] = all_us[r] - c->stages[stage].least_us[r];
        for (int i = 0; i < c->stages[stage].n; i++)
            drop_late_of_choice(c, &c->stages[stage].choices[i], others_us);
    }
}

// ---- samples where they are needed

static bool has_room_for(struct rb_columns *c, int stage, const struct rb_choice *choice)
{
    c->effort += c->n_worlds * effort_of(c, stage, choice);
    c->n_sampled++;
    c->cut = !rb_search_has_time_for(c->search, (double)c->n_worlds / c->n_stages);
    return !c->cut && c->effort <= c->most_effort &&
           rb_table_bytes(c->n_sampled, c->n_worlds) <= rb_search_memory_for_tables(c->search);
}

// Samples one more column of a choice: the one with the most nodes inherited, which bounds those with fewer.
static bool sample_next(struct rb_columns *c, int stage, struct rb_column_choice *choice, bool *io_any, bool *out_room,
                        struct rb_err *err)
{
    for (int kept = choice->high; kept >= choice->low; kept--) {
        if (choice->columns[kept].dropped || choice->columns[kept].sample)
            continue;
        *io_any = true;
        *out_room = has_room_for(c, stage, &choice->choice);
        return !*out_room || sample(c, stage, choice, kept, err);
    }
    return true;
}

// Runs part by part are not begun where most of them cannot be made: the gap that they leave is hardly smaller.
static bool is_worth_it(const struct rb_columns *c)
{
    double trials = 0;
    for (int stage = 0; stage < c->n_stages; stage++) {
        for (int i = 0; i < c->stages[stage].n; i++) {
            const struct rb_column_choice *choice = &c->stages[stage].choices[i];
            const int waiting = count_left(choice, true);
            if (waiting > 0 && is_by_parts(c, stage, &choice->choice))
                trials += waiting * effort_of(c, stage, &choice->choice);
        }
    }
    return trials * c->n_worlds <= WORTH_IT * c->most_effort;
}

bool rb_columns_fill(struct rb_columns *c, double *io_more_uusd, bool *out_all, struct rb_err *err)
{
    bool any = true;
    *out_all = true;
    for (;;) {
        *io_more_uusd = fmax(*io_more_uusd, fmin(c->allowed_uusd, rb_paths_price(c)));
        rb_paths_drop(c);
        drop_late(c);
        *out_all = *out_all && is_worth_it(c);
        if (!any || !*out_all)
            return true;
        any = false;
        for (int stage = 0; stage < c->n_stages; stage++)
            for (int i = 0; i < c->stages[stage].n && *out_all; i++)
                if (!sample_next(c, stage, &c->stages[stage].choices[i], &any, out_all, err))
                    return false;
    }
}
