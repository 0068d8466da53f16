#include "planner/request/stay.h"

#include "planner/request/safe_plan.h"
#include "planner/request/time_share.h"
#include "profiles/catalog/infra.h"

#include <string.h>

// How much of the infra names its place.
static size_t place_length(const char *infra)
{
    const size_t cloud = strcspn(infra, "/");
    return rb_infra_within(infra, "k8s") && infra[cloud] ? cloud + 1 + strcspn(infra + cloud + 1, "/") : cloud;
}

static bool same_place(const char *a, const char *b)
{
    return place_length(a) == place_length(b) && strncmp(a, b, place_length(a)) == 0;
}

// Is it the first of its place?
static bool begins_place(const struct rb_string_list *infra, int i)
{
    int k = 0;
    while (!same_place(infra->items[k], infra->items[i]))
        k++;
    return k == i;
}

int rb_stay_n_places(const struct rb_job *job)
{
    int n = 0;
    for (int i = 0; i < job->resources.infra.n; i++)
        n += begins_place(&job->resources.infra, i);
    return job->data_stays ? n : 1;
}

const char *rb_stay_place(const struct rb_job *job, struct rb_arena *arena)
{
    const char *infra = job->resources.infra.items[0];
    return rb_arena_strndup(arena, infra, place_length(infra));
}

static struct rb_string_list within(const struct rb_string_list *infra, const char *place, struct rb_arena *arena)
{
    const char **items = rb_arena_array(arena, (size_t)infra->n, sizeof *items);
    struct rb_string_list list = {.items = items};
    for (int i = 0; i < infra->n; i++)
        if (same_place(infra->items[i], place))
            items[list.n++] = infra->items[i];
    return list;
}

int rb_stay_jobs(const struct rb_job *job, struct rb_arena *arena, const struct rb_job **out)
{
    const struct rb_string_list *infra = &job->resources.infra;
    struct rb_job *jobs = rb_arena_array(arena, (size_t)infra->n, sizeof *jobs);
    int n = 0;
    *out = job;
    if (rb_stay_n_places(job) == 1)
        return 1;
    for (int i = 0; i < infra->n; i++) {
        if (!begins_place(infra, i))
            continue;
        jobs[n] = *job;
        jobs[n++].resources.infra = within(infra, infra->items[i], arena);
    }
    *out = jobs;
    return n;
}

// --- the best of them

struct place_plan {
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err;
    bool exists;
};

static bool is_better_place(const struct place_plan *a, const struct place_plan *b, enum rb_objective objective)
{
    if (a->exists != b->exists)
        return a->exists;
    if (a->exists)
        return rb_plan_is_better(&a->plan, &a->result, &b->plan, &b->result, objective);
    const bool a_planned = a->err.code == RB_ERR_INFEASIBLE, b_planned = b->err.code == RB_ERR_INFEASIBLE;
    return a_planned && b_planned ? a->result.best.estimate.p_both > b->result.best.estimate.p_both
                                  : a_planned && !b_planned;
}

// What the other places would have cost, or why there is no plan there.
static const char *describe_places(const struct place_plan *places, const struct rb_job *jobs, int n, int chosen,
                                   struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    char money[32], time[32];
    rb_buf_printf(&text, "data.stay: all nodes are in %s", rb_stay_place(&jobs[chosen], arena));
    for (int i = 0; i < n; i++) {
        const struct rb_estimate *e = &places[i].plan.estimate;
        if (i == chosen)
            continue;
        rb_buf_printf(&text, "; in %s ", rb_stay_place(&jobs[i], arena));
        if (places[i].exists)
            rb_buf_printf(&text, "it would cost %s and take %s", rb_format_money(e->cost_uusd.mean, money),
                          rb_format_duration(e->time_us.mean, time));
        else if (places[i].err.code == RB_ERR_INFEASIBLE)
            rb_buf_puts(&text, "no plan keeps the constraints");
        else
            rb_buf_printf(&text, "it cannot be planned (%s)", places[i].err.message);
    }
    return rb_arena_strdup(arena, rb_buf_str(&text));
}

static void put_first(const char *warning, struct rb_arena *arena, struct rb_plan *plan)
{
    const char **all = rb_arena_array(arena, (size_t)plan->n_warnings + 1, sizeof *all);
    all[0] = warning;
    for (int i = 0; i < plan->n_warnings; i++)
        all[i + 1] = plan->warnings[i];
    plan->warnings = all;
    plan->n_warnings++;
}

bool rb_stay_plan(rb_plan_fn *make, const struct rb_plan_request *req, const struct rb_planner *planner,
                  const struct rb_job *jobs, int n, struct rb_arena *arena, struct rb_plan *out_plan,
                  struct rb_plan_result *out_result, struct rb_err *err)
{
    struct place_plan *places = rb_arena_array(arena, (size_t)n, sizeof *places);
    int best = 0;
    for (int i = 0; i < n; i++) {
        struct place_plan *p = &places[i];
        struct rb_plan_request here = *req;
        struct rb_time_share share;
        here.job = &jobs[i];
        here.runs = NULL; // of the offers of all places, as are the hints
        here.n_hints = 0;
        rb_time_share_begin(&share, req, (i + 1.0) / n, &here);
        p->exists = make(&here, planner, arena, &p->plan, &p->result, &p->err);
        if (i > 0 && is_better_place(p, &places[best], req->objective))
            best = i;
    }
    *out_result = places[best].result;
    if (!places[best].exists) {
        *err = places[best].err;
        return rb_err_prefix(err, "data.stay: in %s", rb_stay_place(&jobs[best], arena));
    }
    *out_plan = places[best].plan;
    put_first(describe_places(places, jobs, n, best, arena), arena, out_plan);
    return true;
}
