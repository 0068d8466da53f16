#include "samplers/search.h"

#include "base/order.h"
#include "engine/core/rungs.h"
#include "samplers/recall.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rb_search {
    const struct rb_job *job;
    const struct rb_sampler *sampler;
    void *state;
    struct rb_coordinates coordinates;
    struct rb_history history;
    int64_t levels[RB_LIMIT_STAGES];
    int n_levels;
    double *u;               // [coordinates.n]
    struct rb_arena earlier; // values of the configurations to begin with
    const struct rb_value *first[RB_RECALL_FIRST];
    const char *first_reason[RB_RECALL_FIRST];
    int n_first;
};

// ---- levels

static void add_level(struct rb_search *s, int64_t resource)
{
    for (int i = 0; i < s->n_levels; i++)
        if (s->levels[i] == resource)
            return;
    if (s->n_levels < RB_LIMIT_STAGES)
        s->levels[s->n_levels++] = resource;
}

// The ends of the scheduler's rungs. Where there is one rung, reports on the way are compared at powers of eta.
static bool find_levels(struct rb_search *s, struct rb_err *err)
{
    const struct rb_scheduler *scheduler = &s->job->scheduler;
    struct rb_rung_table rungs;
    if (!rb_rungs_of_job(s->job, &rungs, err))
        return false;
    for (int i = 0; i < rungs.n; i++)
        add_level(s, rungs.rungs[i].resource_end);
    if (s->n_levels == 1)
        for (int64_t r = scheduler->min_resource; r < s->levels[0]; r *= scheduler->eta)
            add_level(s, r);
    qsort(s->levels, (size_t)s->n_levels, sizeof s->levels[0], rb_order_int64s);
    return true;
}

// ---- create

static bool create_sampler(struct rb_search *s, struct rb_err *err)
{
    const struct rb_sampler_spec *spec = &s->job->scheduler.sampler;
    double options[RB_SETTINGS_MAX];
    const struct rb_sampler_setup setup = {
        .coordinates = &s->coordinates,
        .seed = s->job->seed,
        .levels = s->levels,
        .n_levels = s->n_levels,
    };
    return rb_settings_read(&spec->options, s->sampler->name, s->sampler->rules, s->sampler->n_rules, options, err) &&
           s->sampler->create(&setup, options, &s->state, err);
}

bool rb_search_create(const struct rb_job *job, struct rb_search **out, struct rb_err *err)
{
    const char *name = job->scheduler.sampler.type ? job->scheduler.sampler.type : "random";
    struct rb_search *s = rb_xcalloc(1, sizeof *s);
    s->job = job;
    s->sampler = rb_sampler_find(name);
    rb_arena_init(&s->earlier);
    rb_coordinates_init(&s->coordinates, &job->space);
    s->u = rb_xcalloc((size_t)s->coordinates.n + 1, sizeof *s->u);
    if (!s->sampler)
        rb_err_set(err, RB_E_CHOICE, "scheduler.sampler: %s is none of this program's samplers", name);
    if (!s->sampler || !find_levels(s, err) || !create_sampler(s, err)) {
        rb_search_destroy(s);
        return false;
    }
    rb_history_init(&s->history, s->coordinates.n, s->levels, s->n_levels);
    *out = s;
    return true;
}

void rb_search_destroy(struct rb_search *s)
{
    if (!s)
        return;
    if (s->sampler)
        s->sampler->destroy(s->state);
    rb_history_finish(&s->history);
    rb_coordinates_finish(&s->coordinates);
    rb_arena_finish(&s->earlier);
    free(s->u);
    free(s);
}

const struct rb_history *rb_search_history(const struct rb_search *s)
{
    return &s->history;
}

const struct rb_coordinates *rb_search_coordinates(const struct rb_search *s)
{
    return &s->coordinates;
}

bool rb_origin_is_drawn(const char *origin)
{
    static const char *const drawn[] = {"random", "sobol", "start"};
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++)
        if (strcmp(origin, drawn[i]) == 0)
            return true;
    return false;
}

// ---- earlier runs

void rb_search_recall(struct rb_search *s, const struct rb_earlier_result *results, int n)
{
    int first[RB_RECALL_FIRST];
    if (!s->sampler->recalls)
        return;
    rb_recall_fill(&s->history, &s->coordinates, results, n);
    s->n_first = rb_recall_first(&s->job->space, results, n, first, RB_RECALL_FIRST);
    for (int i = 0; i < s->n_first; i++) {
        const struct rb_earlier_result *r = &results[first[i]];
        s->first[i] = rb_values_copy(&s->job->space, r->values, &s->earlier);
        s->first_reason[i] = rb_arena_printf(&s->earlier, "among the best of earlier runs%s%s%s", r->run ? " (" : "",
                                             r->run ? r->run : "", r->run ? ")" : "");
    }
}

// Once, by the results that decide: whatever comes later does not change them.
static void judge_recalled(struct rb_search *s)
{
    if (s->history.n_recalled > 0 && !rb_recall_holds(&s->history)) {
        for (int i = 0; i < s->history.n_recalled; i++)
            free(s->history.recalled[i].u);
        s->history.n_recalled = 0;
    }
}

// ---- facts

void rb_search_began(struct rb_search *s, int trial, const struct rb_value *values, int64_t next_resource)
{
    rb_coordinates_of(&s->coordinates, values, s->u);
    rb_history_begin(&s->history, trial, s->u, next_resource);
}

void rb_search_reported(struct rb_search *s, int trial, int64_t resource, double score, double unit_s)
{
    const int place = rb_history_place_of(&s->history, trial);
    if (place < 0)
        return;
    const int n_results = s->history.n_results;
    if (unit_s > 0)
        s->history.trials[place].unit_s = unit_s;
    rb_history_report(&s->history, place, resource, score);
    if (s->history.n_results > n_results)
        judge_recalled(s);
}

void rb_search_changed(struct rb_search *s, int trial, enum rb_seen_state state, int64_t next_resource)
{
    const int place = rb_history_place_of(&s->history, trial);
    if (place >= 0)
        rb_history_change(&s->history, place, state, next_resource);
}

// ---- suggestions

void rb_search_suggest(struct rb_search *s, const struct rb_ask *ask, struct rb_arena *arena, struct rb_suggestion *out)
{
    struct rb_value *values = rb_arena_array(arena, (size_t)s->job->space.n_params, sizeof *values);
    struct rb_proposal proposal = {.u = s->u, .origin = s->sampler->name, .reason = ""};
    if (ask->trial < s->n_first) {
        *out = (struct rb_suggestion){s->first[ask->trial], "earlier run", s->first_reason[ask->trial]};
        return;
    }
    s->sampler->propose(s->state, &s->history, ask, arena, &proposal);
    if (proposal.is_prior_draw)
        rb_space_sample(&s->job->space, s->job->seed, (uint32_t)ask->trial, values);
    else
        rb_coordinates_values(&s->coordinates, proposal.u, values);
    if (s->history.n_recalled > 0 && strcmp(proposal.origin, s->sampler->name) == 0)
        proposal.reason = rb_arena_printf(arena, "%s; %d results of earlier runs count", proposal.reason, s->history.n_recalled);
    *out = (struct rb_suggestion){values, proposal.origin, proposal.reason};
}
