#include "planner/scores/in_time.h"

#include "planner/scores/on_time.h"
#include "planner/scores/score.h"

#include "engine/core/placement.h"

// A candidate with the laws that stand for its stages.
struct parts {
    const struct rb_law *law[RB_LIMIT_STAGES];
    bool exact[RB_LIMIT_STAGES];
};

// Every trial has a slot that is ready: the law is known as soon as it is asked for.
static bool is_at_hand(const struct rb_search *search, const struct rb_stage_work *work)
{
    const int per_node = rb_search_gpus_per_node(search, work->offer);
    return rb_placement_capacity(work->kept, per_node, work->gpus) >= rb_search_n_trials(search, work->stage);
}

static bool make(struct rb_search *search, const struct rb_stage_work *work, struct parts *io, struct rb_err *err)
{
    const struct rb_stage_time *t =
        rb_stage_times_get(search->times, search->scenario, work, RB_SCORE_SEARCH_ACCURACY, err);
    if (!t)
        return false;
    if (t->method != RB_STAGE_PILOT)
        io->law[work->stage] = &t->law;
    io->exact[work->stage] = true;
    return true;
}

static bool collect(struct rb_search *search, const struct rb_candidate *c, struct parts *out, struct rb_err *err)
{
    for (int i = 0; i < c->n_stages; i++) {
        const struct rb_stage_work work = rb_score_stage_work(c, i);
        const int most = rb_search_useful_nodes(search, 0, work.offer);
        out->law[i] = rb_stage_times_known(search->times, search->scenario, &work, most, &out->exact[i]);
        if (!out->exact[i] && is_at_hand(search, &work) && !make(search, &work, out, err))
            return false;
        if (!out->law[i])
            out->law[i] = rb_stage_times_floor(search->times, search->scenario, &work, err);
        if (!out->law[i])
            return false;
    }
    return true;
}

// Is a plan that takes no less than these laws late too often, whatever they and its own score err by?
static bool is_late(struct rb_search *search, const struct parts *parts, int n)
{
    double re[RB_ON_TIME_TERMS + 8], im[RB_ON_TIME_TERMS + 8], off = 0;
    struct rb_product product = {.re = re, .im = im};
    const struct rb_limit_weights deadline = rb_on_time_deadline(search->on_time);
    rb_product_begin(&product, rb_on_time_terms(search->on_time));
    for (int i = 0; i < n; i++) {
        rb_product_multiply(&product, &product, rb_on_time_transform(search->on_time, parts->law[i]));
        off += parts->law[i]->error + RB_SCORE_ACCURACY;
    }
    off += rb_product_leftover(&product, search->on_time);
    return rb_product_below(&product, &deadline) + off < search->req->confidence;
}

bool rb_may_be_in_time(struct rb_search *search, const struct rb_candidate *c, bool *out, struct rb_err *err)
{
    struct parts parts;
    *out = true;
    if (!search->on_time)
        return true;
    if (!collect(search, c, &parts, err))
        return false;
    *out = !is_late(search, &parts, c->n_stages);
    for (int i = c->n_stages - 1; i >= 0 && *out;
         i--) { // nodes are new in the first stages: their laws are the dearest
        const struct rb_stage_work work = rb_score_stage_work(c, i);
        if (parts.exact[i])
            continue;
        if (!make(search, &work, &parts, err))
            return false;
        *out = !is_late(search, &parts, c->n_stages);
    }
    return true;
}
