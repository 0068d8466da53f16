// How a run will end, and what follows from that: notes about drift, new plans, and limits that `rbrun replan` changes.
#include "executor/run/session_private.h"

#include "executor/run/limits.h"
#include "executor/run/limits_request.h"

#include <math.h>
#include <stdio.h>

// --- drift

static void say_drift(struct rb_session *s, const struct rb_progress *now, const struct rb_buf *line)
{
    if (now->p_on_time < s->files->plan.confidence)
        rb_controller_tell(s->controller, RB_NOTICE_LATE, RB_DRIFT_NOTE, "%s", rb_buf_str(line));
    else
        rb_controller_note(s->controller, RB_DRIFT_NOTE, "%s", rb_buf_str(line));
}

static void check_drift(struct rb_session *s)
{
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    struct rb_progress now;
    struct rb_prediction_pace pace;
    if (s->files->plan.job->on_average)
        return; // no probability was asked
    rb_session_progress(s, &now);
    rb_replanning_check(&s->replanning, s->standing.prediction, &now);
    if (s->replanning.mode == RB_DRIFT_REPLAN)
        return; // it says what it does
    const bool is_paced = rb_prediction_pace(s->standing.prediction, &pace);
    if (rb_drift_check(&s->drift, &now, s->standing.stage, is_paced ? &pace : NULL, s->files->plan.confidence, &line))
        say_drift(s, &now, &line);
    const bool has_no_other_plan = s->replanning.mode == RB_DRIFT_WARN;
    if (has_no_other_plan && s->files->plan.job->on_drift == RB_DRIFT_STOP && rb_drift_is_lost(&s->drift))
        rb_controller_stop(s->controller, RB_STOP_DRIFT);
}

// ---- limits changed by hand

static void answer(struct rb_session *s, bool replanned, bool kept, const char *text)
{
    rb_limits_answer(s->files->dir, s->asked,
                     &(struct rb_limits_answer){s->deadline_us, s->budget_uusd, replanned, kept, text}, NULL);
    s->asked[0] = '\0';
}

void rb_session_refuse(struct rb_session *s, const char *id, const struct rb_err *why)
{
    rb_limits_answer(s->files->dir, id, NULL, why);
    s->asked[0] = '\0';
}

// Where no other nodes can be had.
static void answer_by_prediction(struct rb_session *s)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_progress now;
    rb_session_progress(s, &now);
    const double least = s->files->plan.confidence - RB_DRIFT_MARGIN;
    const char *why = s->files->plan.estimate.spread_unknown ? "the profile has no spread" : now.why_unknown;
    rb_buf_puts(&text, "the nodes stay as they are, others cannot be had");
    if (why)
        rb_buf_printf(&text, "; how probably the limits are kept is not known: %s", why);
    if (!isnan(now.p_on_time))
        rb_buf_printf(&text, ", P(on time) is %.2f", now.p_on_time);
    if (!isnan(now.p_in_budget))
        rb_buf_printf(&text, ", P(in budget) is %.2f", now.p_in_budget);
    answer(s, false, !(now.p_on_time < least) && !(now.p_in_budget < least), rb_buf_str(&text));
}

static void look_for_nodes(struct rb_session *s)
{
    struct rb_progress now;
    rb_session_look(s, &now);
    if (s->files->plan.estimate.spread_unknown || !rb_replanning_ask(&s->replanning, s->standing.prediction, &now))
        rb_standing_begin(&s->standing, &now);
}

void rb_session_take_request(struct rb_session *s)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_limits_request r;
    struct rb_err why = {0};
    bool wait = false;
    int64_t deadline_us = s->deadline_us, budget_uusd = s->budget_uusd;
    if (s->asked[0] || !rb_limits_asked(s->files->dir, &arena, &r))
        return;
    const int64_t most_uusd = s->options->permit ? rb_permit_most_uusd(s->options->permit) : -1;
    const bool done = rb_run_change_limits(r.deadline, r.budget, rb_controller_now_us(s->controller), most_uusd,
                                           &deadline_us, &budget_uusd, &why) &&
                      rb_controller_set_limits(s->controller, deadline_us, budget_uusd, &wait, &why);
    if (wait)
        return;
    rb_limits_take(s->files->dir);
    if (!done) {
        rb_session_refuse(s, r.id, &why);
        return;
    }
    snprintf(s->asked, sizeof s->asked, "%s", r.id);
    s->deadline_us = deadline_us;
    s->budget_uusd = budget_uusd;
    s->drift = (struct rb_drift_watch){0};
    look_for_nodes(s);
}

static void note_replanning(struct rb_session *s)
{
    const char *line = rb_replanning_note(&s->replanning);
    if (line)
        rb_controller_note(s->controller, RB_REPLANNING_NOTE, "%s", line);
}

static void replan(struct rb_session *s, const struct rb_progress *now)
{
    const bool by_hand = s->asked[0] != '\0';
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT;
    struct rb_event advice;
    struct rb_note note = {.kind = RB_REPLANNING_NOTE};
    struct rb_progress expected = *now;
    rb_standing_report(&s->standing, &expected);
    const enum rb_replan_verdict verdict =
        rb_replanning_work(&s->replanning, s->standing.prediction, now, &advice, &words);
    switch (verdict) {
    case RB_REPLAN_NOTHING:
        break;
    case RB_REPLAN_TAKE:
        note.text = rb_replanning_note(&s->replanning);
        rb_controller_advise(s->controller, &advice, note.text ? &note : NULL);
        break;
    case RB_REPLAN_SAY:
        say_drift(s, &expected, &words);
        break;
    case RB_REPLAN_STOP:
        say_drift(s, &expected, &words);
        rb_controller_stop(s->controller, RB_STOP_DRIFT);
        break;
    }
    if (!by_hand || rb_replanning_is_busy(&s->replanning))
        return;
    if (words.len > 0)
        answer(s, verdict == RB_REPLAN_TAKE, s->replanning.p_best >= s->replanning.confidence, rb_buf_str(&words));
    else
        rb_standing_begin(&s->standing, now); // the run is in its last stage by now
}

void rb_session_foresee(struct rb_session *s)
{
    struct rb_progress now;
    rb_session_look(s, &now);
    if (rb_replanning_is_busy(&s->replanning)) {
        replan(s, &now);
    } else if (rb_standing_work(&s->standing, &now)) {
        if (s->asked[0])
            answer_by_prediction(s);
        if (!now.over)
            check_drift(s);
    }
    if (!now.over)
        note_replanning(s);
}
