#include "executor/rehearsal/rehearsal.h"

#include "base/clock.h"
#include "executor/run/replanning.h"
#include "executor/run/standing.h"
#include "simulator/model/spending.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_BETWEEN_US = 30000000, CHECKS_A_DEADLINE = 50 };

struct rehearsal {
    struct rb_reactor reactor; // first: the world knows no more of it
    const struct rb_plan *plan;
    struct rb_plan own_plan;
    struct rb_job job;
    struct rb_standing standing;
    struct rb_replanning replanning;
    struct rb_buf words;
    int stage; // at the last check
    int64_t now_us, next_us;
    bool at_barrier;
    rb_rehearsal_look_fn *look;
    void *look_ctx;
};

static int64_t between_us(const struct rb_plan *plan)
{
    const int64_t whole_us = plan->deadline_us >= 0 ? plan->deadline_us : plan->estimate.time_us.p50;
    const int64_t share_us = whole_us / CHECKS_A_DEADLINE;
    return share_us > LEAST_BETWEEN_US ? share_us : LEAST_BETWEEN_US;
}

static void saw(struct rb_reactor *reactor, const struct rb_event *event)
{
    struct rehearsal *r = (struct rehearsal *)reactor;
    rb_prediction_event(r->standing.prediction, event);
    r->now_us = event->time_us;
    const int stage = rb_engine_stage(rb_prediction_engine(r->standing.prediction));
    r->at_barrier = r->at_barrier || stage > r->stage;
    r->stage = stage;
}

static struct rb_progress stand(struct rehearsal *r)
{
    const struct rb_engine *e = rb_prediction_engine(r->standing.prediction);
    struct rb_progress now;
    rb_progress_of_engine(e, r->plan, &now);
    now.elapsed_us = r->now_us;
    now.spent_uusd = rb_spending_at(rb_prediction_scenario(r->standing.prediction), e, r->now_us);
    now.deadline_us = r->plan->deadline_us;
    now.budget_uusd = r->plan->budget_uusd;
    rb_standing_settle(&r->standing, &now);
    rb_standing_report(&r->standing, &now);
    return now;
}

// True: *out is the advice.
static bool check(struct rehearsal *r, struct rb_event *out)
{
    struct rb_rehearsal_times took = {0};
    const struct rb_thread_clock clock = rb_thread_clock_of_caller();
    const int64_t from_us = rb_thread_clock_us(&clock);
    const struct rb_progress now = stand(r);
    const int64_t checked_us = rb_thread_clock_us(&clock);
    enum rb_replan_verdict verdict = RB_REPLAN_NOTHING;
    rb_buf_clear(&r->words);
    rb_replanning_check(&r->replanning, r->standing.prediction, &now);
    const bool searches = rb_replanning_is_busy(&r->replanning);
    while (rb_replanning_is_busy(&r->replanning))
        verdict = rb_replanning_work(&r->replanning, r->standing.prediction, &now, out, &r->words);
    took.check_us = checked_us - from_us;
    took.search_us = searches ? rb_thread_clock_us(&clock) - checked_us : 0;
    if (r->look)
        r->look(r->look_ctx, r->now_us, &took, rb_buf_str(&r->words));
    out->time_us = r->now_us;
    out->because = NULL; // it is of this check only
    return verdict == RB_REPLAN_TAKE;
}

static bool decide(struct rb_reactor *reactor, int64_t until_us, struct rb_event *out)
{
    struct rehearsal *r = (struct rehearsal *)reactor;
    while (r->at_barrier || r->next_us < until_us) {
        r->now_us = r->at_barrier ? r->now_us : r->next_us;
        r->next_us = r->now_us + between_us(r->plan);
        r->at_barrier = false;
        if (rb_replan_is_possible(r->standing.prediction) && check(r, out))
            return true;
    }
    return false;
}

static void destroy(struct rb_reactor *reactor)
{
    struct rehearsal *r = (struct rehearsal *)reactor;
    rb_replanning_finish(&r->replanning);
    rb_prediction_destroy(r->standing.prediction);
    rb_buf_finish(&r->words);
    free(r);
}

struct rb_reactor *rb_rehearsal_begin(const struct rb_plan *plan)
{
    struct rehearsal *r = rb_xcalloc(1, sizeof *r);
    r->reactor = (struct rb_reactor){.saw = saw, .decide = decide, .destroy = destroy};
    r->job = *plan->job;
    r->job.on_drift = RB_DRIFT_REPLAN;
    r->own_plan = *plan;
    r->own_plan.job = &r->job;
    r->plan = &r->own_plan;
    r->standing.prediction = rb_prediction_create(r->plan);
    r->words = (struct rb_buf)RB_BUF_INIT;
    r->stage = -1;
    rb_replanning_init(&r->replanning, r->plan);
    return &r->reactor;
}

void rb_rehearsal_look(struct rb_reactor *reactor, rb_rehearsal_look_fn *look, void *ctx)
{
    struct rehearsal *r = (struct rehearsal *)reactor;
    r->look = look;
    r->look_ctx = ctx;
}
