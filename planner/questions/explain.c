// Lists what was considered and why it lost: one line per candidate, without duplicates. Clusters that differ only in
// their size share a line. The number of lines is capped; the rest is counted.
#include "planner/search/search.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define EXPLAIN_LINES 60 // of one planner: what a person scrolls through
#define MOST_PLANNERS 8
#define FIRST_SLOTS   256 // of the hash table; doubles when three quarters full

// Lines about one kind of cluster that give the same reason for increasing or decreasing node counts.
struct range {
    const char *planner, *format; // NULL: none is open
    int offer, first, last, step; // nodes; step 0: one line so far
    struct rb_buf line, first_why, last_why;
};

struct rb_explained {
    uint64_t *seen; // [n_slots] planner and candidate; 0: empty
    size_t n_slots, n_seen;
    int n_lines[MOST_PLANNERS];
    int64_t n_rest; // candidates that lost after the cap
    bool has_legend;
    struct range open;
};

struct rb_explained *rb_explained_create(void)
{
    struct rb_explained *e = rb_xcalloc(1, sizeof *e);
    e->n_slots = FIRST_SLOTS;
    e->seen = rb_xcalloc(e->n_slots, sizeof *e->seen);
    return e;
}

void rb_explained_destroy(struct rb_explained *e)
{
    if (!e)
        return;
    rb_buf_finish(&e->open.line);
    rb_buf_finish(&e->open.first_why);
    rb_buf_finish(&e->open.last_why);
    free(e->seen);
    free(e);
}

bool rb_search_explains(const struct rb_search *search)
{
    return search->req->explain != NULL;
}

// One stage: "64 x 1 GPU on 16 g5.12xlarge (spot)"; the offer is written only if it changes.
static void stage_text(const struct rb_scenario *s, const struct rb_candidate *c, int stage, struct rb_buf *out)
{
    const struct rb_choice *choice = &c->stages[stage];
    const struct rb_offer *offer = &s->offers[choice->offer];
    rb_buf_printf(out, "%s%dx%d on %d", stage > 0 ? ", " : "", s->stages.rungs[stage].trials, choice->gpus,
                  choice->nodes);
    if (stage == 0 || choice->offer != c->stages[stage - 1].offer)
        rb_buf_printf(out, " %s%s", offer->instance_type, rb_market_mark(offer->market));
}

void rb_candidate_text(const struct rb_scenario *s, const struct rb_candidate *candidate, struct rb_buf *out)
{
    char text[32];
    for (int i = 0; i < candidate->n_stages; i++)
        stage_text(s, candidate, i, out);
    if (candidate->admit_until_us > 0)
        rb_buf_printf(out, ", no configuration started after %s", rb_format_duration(candidate->admit_until_us, text));
}

// ---- without duplicates

static uint64_t key_of(int planner, const struct rb_candidate *c)
{
    uint64_t key = (UINT64_C(14695981039346656037) ^ (uint64_t)planner) * UINT64_C(1099511628211); // FNV-1a
    for (int i = 0; i < c->n_stages; i++) {
        const int parts[] = {c->stages[i].offer, c->stages[i].gpus, c->stages[i].nodes};
        for (int k = 0; k < 3; k++)
            key = (key ^ (uint64_t)(uint32_t)parts[k]) * UINT64_C(1099511628211);
    }
    key = (key ^ (uint64_t)c->admit_until_us) * UINT64_C(1099511628211);
    return key ? key : 1;
}

static uint64_t *slot_of(uint64_t *seen, size_t n_slots, uint64_t key)
{
    size_t i = (size_t)(key >> 20) & (n_slots - 1);
    while (seen[i] != 0 && seen[i] != key)
        i = (i + 1) & (n_slots - 1);
    return &seen[i];
}

static void grow(struct rb_explained *e)
{
    uint64_t *seen = rb_xcalloc(2 * e->n_slots, sizeof *seen);
    for (size_t i = 0; i < e->n_slots; i++) {
        if (e->seen[i] != 0)
            *slot_of(seen, 2 * e->n_slots, e->seen[i]) = e->seen[i];
    }
    free(e->seen);
    e->seen = seen;
    e->n_slots *= 2;
}

static bool is_new(struct rb_explained *e, int planner, const struct rb_candidate *c)
{
    const uint64_t key = key_of(planner, c);
    uint64_t *slot = slot_of(e->seen, e->n_slots, key);
    if (*slot == key)
        return false;
    *slot = key;
    if (4 * ++e->n_seen > 3 * e->n_slots)
        grow(e);
    return true;
}

static int index_of(const char *planner)
{
    int index = 0;
    while (strcmp(rb_planners[index]->name, planner) != 0)
        index++;
    assert(index < MOST_PLANNERS);
    return index;
}

// ---- lines

static void print(struct rb_search *search, const char *text)
{
    search->req->explain(search->req->explain_ctx, text);
}

static void print_of(struct rb_search *search, const char *planner, const char *text)
{
    struct rb_explained *e = search->explained;
    if (e->n_lines[index_of(planner)]++ >= EXPLAIN_LINES) {
        e->n_rest++;
        return;
    }
    if (!e->has_legend)
        print(search,
              search->req->job->trial.cpus > 0
                  ? "27x1 on 4 c7i.4xlarge: 27 trials with the CPUs of one trial each on 4 nodes, one stage after "
                    "the other; more: than the best so far"
                  : "27x1 on 14 g5.xlarge: 27 trials with 1 GPU each on 14 nodes, one stage after the other; "
                    "more: than the best so far");
    e->has_legend = true;
    print(search, text);
}

// "static: 3 to 16 g4dn.metal throughout: costs at least $6.13 more ... costs at least $61.03 more"
static void close_range(struct rb_search *search)
{
    struct range *r = &search->explained->open;
    if (!r->planner)
        return;
    if (r->step != 0) {
        const struct rb_offer *offer = &search->scenario->offers[r->offer];
        rb_buf_clear(&r->line);
        rb_buf_printf(&r->line, "%s: %d to %d %s%s throughout: %s", r->planner, r->first, r->last, offer->instance_type,
                      rb_market_mark(offer->market), rb_buf_str(&r->first_why));
        if (strcmp(rb_buf_str(&r->first_why), rb_buf_str(&r->last_why)) != 0)
            rb_buf_printf(&r->line, " ... %s", rb_buf_str(&r->last_why));
    }
    print_of(search, r->planner, rb_buf_str(&r->line));
    r->planner = NULL;
}

// Nodes of a cluster that never changes; 0: it changes.
static int cluster_of(const struct rb_candidate *c)
{
    for (int i = 1; i < c->n_stages; i++) {
        if (c->stages[i].offer != c->stages[0].offer || c->stages[i].nodes != c->stages[0].nodes)
            return 0;
    }
    return c->admit_until_us > 0 ? 0 : c->stages[0].nodes;
}

static bool joins(const struct range *r, const char *planner, const char *format, const struct rb_candidate *c)
{
    const int nodes = cluster_of(c), step = nodes - r->last;
    if (!r->planner || r->first == 0 || nodes == 0 || strcmp(r->planner, planner) != 0 ||
        strcmp(r->format, format) != 0 || r->offer != c->stages[0].offer)
        return false;
    return r->step == 0 ? step == 1 || step == -1 : step == r->step;
}

static void add(struct rb_search *search, const char *planner, const char *format, const struct rb_candidate *c,
                const char *why)
{
    struct range *r = &search->explained->open;
    const bool joined = joins(r, planner, format, c);
    if (!joined)
        close_range(search);
    rb_buf_clear(&r->last_why);
    rb_buf_puts(&r->last_why, why);
    if (joined) {
        r->step = cluster_of(c) - r->last;
        r->last += r->step;
        return;
    }
    r->planner = planner;
    r->format = format;
    r->offer = c->stages[0].offer;
    r->first = r->last = cluster_of(c);
    r->step = 0;
    rb_buf_clear(&r->first_why);
    rb_buf_puts(&r->first_why, why);
    rb_buf_clear(&r->line);
    rb_buf_printf(&r->line, "%s: ", planner);
    rb_candidate_text(search->scenario, c, &r->line);
    rb_buf_printf(&r->line, ": %s", why);
}

void rb_search_explain(struct rb_search *search, const char *planner, const struct rb_candidate *candidate,
                       const char *fmt, ...)
{
    if (!search->req->explain || !is_new(search->explained, index_of(planner), candidate))
        return;
    struct rb_buf why = RB_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    rb_buf_vprintf(&why, fmt, ap);
    va_end(ap);
    add(search, planner, fmt, candidate, rb_buf_str(&why));
    rb_buf_finish(&why);
}

// A reason that involves only one of two constraints is written once.
static void explain_infeasible(struct rb_search *search, const char *planner, const struct rb_candidate *c)
{
    char text[32], p[32], asked[32];
    const struct rb_plan_request *req = search->req;
    const struct rb_estimate *e = &c->estimate;
    struct rb_buf why = RB_BUF_INIT;
    const bool has_quantiles = e->time_us.p95 > 0; // a score from laws has no quantiles
    const bool both = req->deadline_us >= 0 && req->budget_uusd >= 0;
    if (both)
        rb_buf_printf(&why, "; on time %.3f", e->p_deadline);
    if (req->deadline_us >= 0)
        rb_buf_printf(&why, has_quantiles ? "%s 95 %% within %s" : "%s %s on average", both ? "," : ";",
                      rb_format_duration(has_quantiles ? e->time_us.p95 : e->time_us.mean, text));
    if (both && has_quantiles)
        rb_buf_printf(&why, "; in budget %.3f", e->p_budget);
    if (req->budget_uusd >= 0)
        rb_buf_printf(&why, has_quantiles ? "%s 95 %% within %s" : "%s %s on average",
                      both && has_quantiles ? "," : ";",
                      rb_format_money(has_quantiles ? e->cost_uusd.p95 : e->cost_uusd.mean, text));
    rb_format_probabilities(e->p_both, req->confidence, p, asked);
    rb_search_explain(search, planner, c, "infeasible: P=%s < %s%s", p, asked, rb_buf_str(&why));
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
    close_range(search);
    print(search, rb_buf_str(&line));
    rb_buf_finish(&line);
}

void rb_search_explain_rest(struct rb_search *search)
{
    if (!search->req->explain)
        return;
    close_range(search);
    if (search->explained->n_rest > 0)
        rb_search_note(search, "and %lld more lines about candidates that lost in the same ways",
                       (long long)search->explained->n_rest);
}
