// What was considered and why it lost, one line a candidate. Capped: the rest is counted.
#include "planner/search.h"

#include <stdarg.h>
#include <string.h>

#define EXPLAIN_LINES 60 // of one planner: what a person scrolls through

bool rb_search_explains(const struct rb_search *search)
{
    return search->req->explain != NULL;
}

// One stage: "64 x 1 GPU on 16 g5.12xlarge (spot)"; the offer only where it changes.
static void stage_text(const struct rb_scenario *s, const struct rb_candidate *c, int stage, struct rb_buf *out)
{
    const struct rb_choice *choice = &c->stages[stage];
    const struct rb_offer *offer = &s->offers[choice->offer];
    rb_buf_printf(out, "%s%dx%d on %d", stage > 0 ? ", " : "", s->stages.rungs[stage].trials, choice->gpus,
                  choice->nodes);
    if (stage == 0 || choice->offer != c->stages[stage - 1].offer)
        rb_buf_printf(out, " %s%s", offer->instance_type, offer->market == RB_MARKET_SPOT ? " (spot)" : "");
}

void rb_candidate_text(const struct rb_scenario *s, const struct rb_candidate *candidate, struct rb_buf *out)
{
    char text[32];
    for (int i = 0; i < candidate->n_stages; i++)
        stage_text(s, candidate, i, out);
    if (candidate->admit_until_us > 0)
        rb_buf_printf(out, ", no configuration started after %s", rb_format_duration(candidate->admit_until_us, text));
}

static bool is_capped(struct rb_search *search, const char *planner)
{
    int index = 0;
    while (strcmp(rb_planners[index]->name, planner) != 0)
        index++;
    if (search->n_explained[index] < EXPLAIN_LINES) {
        search->n_explained[index]++;
        return false;
    }
    search->n_unexplained++;
    return true;
}

void rb_search_explain(struct rb_search *search, const char *planner, const struct rb_candidate *candidate,
                       const char *fmt, ...)
{
    if (!search->req->explain)
        return;
    if (is_capped(search, planner))
        return;
    struct rb_buf line = RB_BUF_INIT;
    rb_buf_printf(&line, "%s: ", planner);
    rb_candidate_text(search->scenario, candidate, &line);
    rb_buf_puts(&line, ": ");
    va_list ap;
    va_start(ap, fmt);
    rb_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    search->req->explain(search->req->explain_ctx, rb_buf_str(&line));
    rb_buf_finish(&line);
}

static void explain_infeasible(struct rb_search *search, const char *planner, const struct rb_candidate *c)
{
    char text[32];
    const struct rb_plan_request *req = search->req;
    const struct rb_estimate *e = &c->estimate;
    struct rb_buf why = RB_BUF_INIT;
    bool told = e->time_us.p95 > 0; // a score from laws has no quantiles
    if (req->deadline_us >= 0 && !told)
        rb_buf_printf(&why, "; on time %.3f, %s on average", e->p_deadline, rb_format_duration(e->time_us.mean, text));
    if (req->deadline_us >= 0 && told)
        rb_buf_printf(&why, "; on time %.3f, 95 %% within %s", e->p_deadline, rb_format_duration(e->time_us.p95, text));
    if (req->budget_uusd >= 0 && !told)
        rb_buf_printf(&why, "; %s on average", rb_format_money(e->cost_uusd.mean, text));
    if (req->budget_uusd >= 0 && told)
        rb_buf_printf(&why, "; in budget %.3f, 95 %% within %s", e->p_budget, rb_format_money(e->cost_uusd.p95, text));
    rb_search_explain(search, planner, c, "infeasible: P=%.3f < %g%s", e->p_both, req->confidence, rb_buf_str(&why));
    rb_buf_finish(&why);
}

void rb_search_explain_loss(struct rb_search *search, const char *planner, const struct rb_candidate *candidate,
                            const struct rb_candidate *best)
{
    if (!search->req->explain)
        return;
    if (!best || !rb_search_feasible(search, &candidate->estimate)) {
        explain_infeasible(search, planner, candidate);
        return;
    }
    char money[32], time[32];
    int64_t more_uusd = candidate->estimate.cost_uusd.mean - best->estimate.cost_uusd.mean;
    int64_t more_us = candidate->estimate.time_us.mean - best->estimate.time_us.mean;
    if (search->req->objective == RB_OBJECTIVE_MIN_COST && more_uusd > 0)
        rb_search_explain(search, planner, candidate, "costs %s more", rb_format_money(more_uusd, money));
    else if (search->req->objective == RB_OBJECTIVE_MIN_TIME && more_us > 0)
        rb_search_explain(search, planner, candidate, "takes %s longer", rb_format_duration(more_us, time));
    else
        rb_search_explain(search, planner, candidate, "equal; a tie is broken by time, then by order");
}

void rb_search_note(struct rb_search *search, const char *fmt, ...)
{
    if (!search->req->explain)
        return;
    struct rb_buf line = RB_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    rb_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    search->req->explain(search->req->explain_ctx, rb_buf_str(&line));
    rb_buf_finish(&line);
}

void rb_search_explain_rest(struct rb_search *search)
{
    if (search->n_unexplained > 0)
        rb_search_note(search, "and %lld more candidates that lost in the same ways", (long long)search->n_unexplained);
}
