#include "planner/request/windows.h"

#include "planner/async/engine_runs.h"
#include "planner/scores/estimator.h"
#include "profiles/catalog/reservation.h"
#include "simulator/world/world_evaluate.h"

#include <math.h>
#include <stdlib.h>

#define RUNS 256 // of the engine: enough for a probability that only decides where the search looks next

void rb_windows_init(struct rb_windows *w, const struct rb_scenario *s)
{
    *w = (struct rb_windows){0};
    bool any = false;
    for (int i = 0; i < s->n_offers; i++)
        any = any || rb_offer_closes(&s->offers[i]);
    if (!any)
        return;
    w->spans = rb_xcalloc((size_t)s->n_offers, sizeof *w->spans);
    for (int i = 0; i < s->n_offers; i++)
        w->spans[i] = (struct rb_stage_span){0, s->stages.n};
}

void rb_windows_finish(struct rb_windows *w)
{
    free(w->spans);
    *w = (struct rb_windows){0};
}

// In how many runs the stage begins too soon for its reservation, and in how many it ends too late.
struct misses {
    int too_soon, too_late;
};

static struct misses count_misses(const struct rb_reservation *r, const struct rb_world_phase *phases, int n_stages,
                                  int stage)
{
    struct misses n = {0};
    for (int run = 0; run < RUNS; run++) {
        const struct rb_world_phase *of = &phases[(size_t)run * (size_t)n_stages];
        int64_t begin_us = 0;
        for (int i = 0; i < stage; i++)
            begin_us += of[i].time_us;
        n.too_soon += begin_us < r->opens_us;
        n.too_late += begin_us + of[stage].time_us > rb_reservation_notice_at_us(r);
    }
    return n;
}

static bool run_plan(struct rb_search *search, const struct rb_candidate *c, struct rb_world_phase *phases,
                     struct rb_err *err)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    RB_AUTO(rb_auto_free) struct rb_world_result *results = rb_xcalloc(RUNS, sizeof *results);
    rb_candidate_stages(search->scenario, c, stages, nodes);
    const struct rb_plan plan = rb_engine_plan(search, c, stages);
    const struct rb_world_runs runs = {
        .samples = RUNS,
        .first = RB_UNSEEN_RUNS,
        .threads = search->req->threads,
        .deadline_us = search->req->deadline_us,
        .budget_uusd = search->req->budget_uusd,
        .past_budget = true,
    };
    return rb_world_replicates(search->scenario, &plan, &runs, results, phases, err);
}

static bool uses_any(const struct rb_search *search, const struct rb_candidate *c)
{
    bool any = false;
    for (int i = 0; i < c->n_stages && search->spans && search->scorer->barriers; i++)
        any = any || rb_offer_closes(&search->scenario->offers[c->stages[i].offer]);
    return any;
}

// Of each stage that is on a reservation; 0 of the others.
static bool measure(struct rb_search *search, const struct rb_candidate *c, struct misses out[static RB_LIMIT_STAGES],
                    struct rb_err *err)
{
    RB_AUTO(rb_auto_free)
    struct rb_world_phase *phases = rb_xcalloc((size_t)RUNS * (size_t)c->n_stages, sizeof *phases);
    if (!run_plan(search, c, phases, err))
        return false;
    for (int i = 0; i < c->n_stages; i++) {
        const struct rb_offer *offer = &search->scenario->offers[c->stages[i].offer];
        out[i] = (struct misses){0};
        if (rb_offer_closes(offer))
            out[i] = count_misses(offer->reservation, phases, c->n_stages, i);
    }
    return true;
}

bool rb_windows_narrow(struct rb_windows *w, struct rb_search *search, const struct rb_plan_result *result,
                       struct rb_err *err)
{
    const struct rb_candidate *c = &result->best;
    const int most = RUNS - rb_need_count(search->req->confidence, RUNS);
    struct misses n[RB_LIMIT_STAGES];
    w->narrowed = false;
    if (!uses_any(search, c))
        return true;
    if (!measure(search, c, n, err))
        return false;
    for (int i = 0; i < c->n_stages && !w->narrowed; i++) {
        struct rb_stage_span *span = &w->spans[c->stages[i].offer];
        if (n[i].too_soon > most)
            span->first = i + 1;
        else if (n[i].too_late > most)
            span->end = i;
        w->narrowed = n[i].too_soon > most || n[i].too_late > most;
    }
    return true;
}

bool rb_windows_note(struct rb_search *search, const struct rb_candidate *c, struct rb_arena *arena, const char **out,
                     struct rb_err *err)
{
    struct misses n[RB_LIMIT_STAGES];
    char text[32];
    *out = NULL;
    if (!uses_any(search, c))
        return true;
    if (!measure(search, c, n, err))
        return false;
    for (int i = 0; i < c->n_stages && !*out; i++) {
        const struct rb_reservation *r = search->scenario->offers[c->stages[i].offer].reservation;
        if (n[i].too_late > 0)
            *out = rb_arena_printf(arena,
                                   "reservation %s gives notice after %s: in %.0f %% of runs stage %d is then unfinished, and "
                                   "goes on on other machines; the figures include that",
                                   r->id, rb_format_duration(rb_reservation_notice_at_us(r), text),
                                   ceil(100.0 * n[i].too_late / RUNS), i);
    }
    return true;
}

const char *rb_windows_warning(const struct rb_search *search, int offer, struct rb_arena *arena)
{
    const struct rb_stage_span *span = search->spans ? &search->spans[offer] : NULL;
    const struct rb_reservation *r = search->scenario->offers[offer].reservation;
    const int n = search->scenario->stages.n;
    char text[32];
    if (!span || !r || (span->first == 0 && span->end == n))
        return NULL;
    if (span->first >= span->end)
        return rb_arena_printf(arena, "reservation %s was not considered: no stage of such a plan lies between its "
                                      "beginning and its notice with the confidence asked", r->id);
    if (span->first > 0)
        return rb_arena_printf(arena, "reservation %s was not considered before stage %d: it opens after %s", r->id,
                               span->first, rb_format_duration(r->opens_us, text));
    return rb_arena_printf(arena,
                           "reservation %s was not considered from stage %d on: such a stage does not end with the "
                           "confidence asked before its notice, after %s",
                           r->id, span->end, rb_format_duration(rb_reservation_notice_at_us(r), text));
}
