#include "executor/run/replanning.h"

#include "base/clock.h"
#include "base/text/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SLICE_US = 20000,
    LEAST_REST_US = 30000000,
    REST_SHARE = 100, // of the deadline
    LEAST_SAVING_UUSD = 10000,
    TENTHS = 10, // of a stage's work
};

#define SURER         0.01 // of probability
#define LEAST_SAVING  0.03 // of what is still to be spent; bench/results/replan.md has what other shares are worth
#define LEAST_NO_NEWS 0.1  // likewise
#define NEWS          0.9  // of the pace that the plan had to reckon with
#define NO_CHANCE     0.05
#define CLEAR_SE      2    // standard errors

void rb_replanning_init(struct rb_replanning *r, const struct rb_plan *plan)
{
    const bool has_limit = plan->deadline_us >= 0 || plan->budget_uusd >= 0;
    const bool has_stages = strcmp(plan->policy, "elastic") == 0;
    const enum rb_drift asked = plan->job->on_drift;
    *r = (struct rb_replanning){
        .mode = has_limit && has_stages && !plan->job->on_average && asked != RB_DRIFT_UNSET ? asked : RB_DRIFT_WARN,
        .confidence = plan->confidence,
        .first_ppm = {-1, -1},
        .looked = -1,
        .decided = true,
    };
}

bool rb_replanning_is_busy(const struct rb_replanning *r)
{
    return !r->decided;
}

void rb_replanning_finish(struct rb_replanning *r)
{
    rb_replan_destroy(r->search);
    r->search = NULL;
}

// ---- for the journal

#define NOTE_WRITTEN "stages=%d below=%d looked=%d rests_us=%lld hopeless=%d said=%d first_ppm=%d,%d"
#define NOTE_READ    "stages=%8d below=%8d looked=%8d rests_us=%18lld hopeless=%8d said=%1d first_ppm=%8d,%8d"

const char *rb_replanning_note(struct rb_replanning *r)
{
    char line[sizeof r->noted];
    snprintf(line, sizeof line, NOTE_WRITTEN, r->n_stages, r->below, r->looked, (long long)r->rests_until_us,
             r->n_hopeless, r->said_hopeless, r->first_ppm[0], r->first_ppm[1]);
    if (r->mode == RB_DRIFT_WARN || rb_replanning_is_busy(r) || strcmp(line, r->noted) == 0)
        return NULL;
    memcpy(r->noted, line, sizeof line);
    return r->noted;
}

void rb_replanning_recall(struct rb_replanning *r, const char *line)
{
    int n_stages, below, looked, n_hopeless, said, first_ppm[2];
    long long rests_us;
    if (sscanf(line, NOTE_READ, &n_stages, &below, &looked, &rests_us, &n_hopeless, &said, &first_ppm[0],
               &first_ppm[1]) != 8)
        return;
    r->n_stages = n_stages;
    r->below = below;
    r->looked = looked;
    r->rests_until_us = rests_us;
    r->n_hopeless = n_hopeless;
    r->said_hopeless = said;
    memcpy(r->first_ppm, first_ppm, sizeof first_ppm);
    snprintf(r->noted, sizeof r->noted, "%s", line);
}

// ---- when

// Have half of the trials at work shown how fast they train? Nodes that are bought before are bought for a guess.
static bool is_shown(struct rb_prediction *p, const struct rb_progress *now)
{
    struct rb_prediction_pace pace;
    const bool has_pace = rb_prediction_pace(p, &pace) && (pace.stage < 0 || pace.stage == now->stage);
    return 2 * (has_pace ? pace.n_trials : 0) >= now->n_by_state[RB_TRIAL_RUNNING];
}

static double least_of(const struct rb_progress *now)
{
    return fmin(now->p_on_time, now->p_in_budget); // of one that is NaN the other
}

// In the first stage, before a unit was trained, only nodes that are late or lost are news: the probability is less than
// it was at first. With trials at work it is less for another reason, too: to the posterior no profile is exact, and
// layouts have errors of their own (docs/MODEL.md).
static bool is_short(const struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now)
{
    struct rb_prediction_pace pace;
    const bool waits = r->mode == RB_DRIFT_REPLAN && now->stage <= 0 && !rb_prediction_pace(p, &pace);
    const int first_ppm = r->first_ppm[now->n_by_state[RB_TRIAL_RUNNING] > 0];
    const double c = waits && first_ppm >= 0 ? fmin(r->confidence, 1e-6 * first_ppm) : r->confidence;
    return least_of(now) < c - RB_DRIFT_MARGIN;
}

// Nodes that are lost or late cannot wait, and to stop needs no nodes.
static bool is_too_early(const struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now)
{
    return r->mode == RB_DRIFT_REPLAN && now->nodes_ready == now->nodes && !is_shown(p, now);
}

// Tenths of the stage's work, by the units that are trained or the trials that have ended. The last one ends at the barrier.
static int tenths_done(const struct rb_engine *e, const struct rb_progress *now)
{
    const struct rb_plan_stage *stage = &rb_engine_present_plan(e)->stages[now->stage];
    const int64_t from = stage->resource_start, units = now->trials * (stage->resource_end - from);
    int64_t done = 0;
    for (int i = 0; i < rb_engine_n_trials(e); i++) {
        const struct rb_trial *t = rb_engine_trial(e, i);
        done += t->stage == now->stage && t->resource > from ? t->resource - from : 0;
    }
    const double by_units = units > 0 ? (double)done / (double)units : 0;
    const double by_trials = now->trials > 0 ? (double)now->trials_ended / now->trials : 0;
    return (int)fmin(TENTHS * fmax(by_units, by_trials), TENTHS - 1);
}

// Does training take less, for sure, than the plan had to reckon with? If not, the plan knew what is known now, and what
// others save is seldom worth a change.
static bool is_news(struct rb_prediction *p)
{
    struct rb_prediction_pace pace;
    return rb_prediction_pace(p, &pace) && pace.high < NEWS * pace.reckoned;
}

// The tenth of the run, counted through all stages, for which a cheaper plan is looked for now: at a barrier the first one
// of the stage that begins; within a stage each one where there is news, otherwise the middle, by which the stage has shown
// how fast it trains. -1: none.
static int tenth_due(struct rb_prediction *p, const struct rb_progress *now, bool at_barrier)
{
    const int first = TENTHS * now->stage;
    struct rb_prediction_pace pace;
    if (!rb_prediction_pace(p, &pace))
        return -1;
    if (at_barrier)
        return first;
    const int done = tenths_done(rb_prediction_engine(p), now);
    if (is_shown(p, now) && is_news(p))
        return first + done;
    return done >= TENTHS / 2 ? first + TENTHS / 2 : -1;
}

static void begin(struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now, bool for_less)
{
    const struct rb_replan_limits limits = {now->deadline_us, now->budget_uusd, r->confidence};
    rb_prediction_begin(p, &(struct rb_prediction_now){.now_us = now->elapsed_us,
                                                       .spent_uusd = now->spent_uusd,
                                                       .deadline_us = now->deadline_us,
                                                       .budget_uusd = now->budget_uusd});
    rb_replan_destroy(r->search);
    r->search = rb_replan_begin(p, &limits);
    r->decided = r->search == NULL;
    r->for_less = for_less;
    r->by_hand = false;
}

static void look_for_less(struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now, bool at_barrier)
{
    const int tenth = tenth_due(p, now, at_barrier);
    if (tenth <= r->looked)
        return;
    r->looked = tenth;
    begin(r, p, now, true);
}

bool rb_replanning_ask(struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now)
{
    const struct rb_engine *e = rb_prediction_engine(p);
    r->below = 0;
    r->said_hopeless = false;
    r->first_ppm[0] = r->first_ppm[1] = -1;
    if (e && strcmp(rb_engine_present_plan(e)->policy, "elastic") == 0)
        begin(r, p, now, false);
    r->by_hand = !r->decided;
    return r->by_hand;
}

void rb_replanning_check(struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now)
{
    if (r->mode == RB_DRIFT_WARN || rb_replanning_is_busy(r) || now->why_unknown || now->is_planned || now->over)
        return;
    const bool at_barrier = r->n_stages > 0 && now->stage >= r->n_stages;
    r->n_stages = now->stage + 1;
    int *first_ppm = &r->first_ppm[now->n_by_state[RB_TRIAL_RUNNING] > 0];
    if (*first_ppm < 0 && least_of(now) >= 0) // not NaN
        *first_ppm = (int)lround(1e6 * least_of(now));
    r->below = is_short(r, p, now) ? r->below + 1 : 0;
    if (at_barrier)
        r->rests_until_us = 0;
    if (r->below >= (at_barrier ? 1 : RB_DRIFT_CHECKS)) {
        if (now->elapsed_us >= r->rests_until_us && (at_barrier || !is_too_early(r, p, now)))
            begin(r, p, now, false);
    } else if (r->below == 0 && r->mode == RB_DRIFT_REPLAN) {
        look_for_less(r, p, now, at_barrier);
    }
}

// ---- what

static bool is_taken(const struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now,
                     const struct rb_replan_found *f)
{
    const double saving = f->cost_before_uusd - f->cost_after_uusd;
    const bool affordable = now->budget_uusd < 0 || f->highest_uusd <= now->budget_uusd || saving >= 0;
    if ((f->n == 0 && f->admit_until_us == 0) || (r->mode != RB_DRIFT_REPLAN && !r->by_hand) || !affordable)
        return false;
    if (!r->for_less)
        return f->p_after >= f->p_before + SURER;
    const double left = f->cost_before_uusd - (double)now->spent_uusd;
    const double least = r->by_hand || is_news(p) ? LEAST_SAVING : LEAST_NO_NEWS;
    return f->p_after >= r->confidence && saving > fmax(least * left, LEAST_SAVING_UUSD) &&
           saving > CLEAR_SE * f->saving_se_uusd;
}

static void write_change(const struct rb_plan *plan, const struct rb_stage_change *c, const char *before,
                         struct rb_buf *out)
{
    const struct rb_plan_stage *old = &plan->stages[c->stage];
    rb_buf_printf(out, "%sstage %d on %d %s", before, c->stage, c->nodes, plan->offers[c->offer].instance_type);
    if (c->gpus_per_trial != old->gpus_per_trial)
        rb_buf_printf(out, " with %d GPUs a trial", c->gpus_per_trial);
    rb_buf_printf(out, " instead of %d", rb_plan_stage_node_count(old));
    if (old->nodes[0].offer != c->offer)
        rb_buf_printf(out, " %s", plan->offers[old->nodes[0].offer].instance_type);
}

static void write_taken(const struct rb_plan *plan, const struct rb_replan_found *f, struct rb_buf *out)
{
    char dollars[32], at[32];
    const double more = f->cost_after_uusd - f->cost_before_uusd;
    for (int i = 0; i < f->n; i++)
        write_change(plan, &f->changes[i], i ? ", " : "", out);
    if (f->admit_until_us > 0)
        rb_buf_printf(out, "%sno configuration is started after %s", f->n ? ", " : "",
                      rb_format_duration(f->admit_until_us, at));
    rb_format_money(llround(fabs(more)), dollars);
    if (llround(more) == 0)
        rb_buf_puts(out, ", for as much");
    else
        rb_buf_printf(out, ", for %s %s", dollars, more >= 0 ? "more" : "less");
    rb_buf_printf(out, ": P(both limits) is %.2f instead of %.2f", f->p_after, f->p_before);
}

static void write_reason(struct rb_prediction *p, const struct rb_progress *now, struct rb_buf *out)
{
    struct rb_prediction_pace pace;
    if (rb_prediction_pace(p, &pace))
        rb_drift_write_reason(&pace, now->stage, out);
}

// The user asked: the answer is printed, whatever it is.
static enum rb_replan_verdict stay(const struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now,
                                   const struct rb_replan_found *f, struct rb_buf *out)
{
    write_reason(p, now, out);
    if (f->p_before >= r->confidence)
        rb_buf_printf(out, "the nodes stay as they are: P(both limits) is %.2f, and others would not save enough", f->p_before);
    else
        rb_buf_printf(out, "no other nodes for the stages to come keep both limits with more than %.2f; %.2f was asked",
                      fmax(f->p_before, f->p_after), r->confidence);
    return RB_REPLAN_NOTHING;
}

// Chances are what the surest plan has, found or in force.
static enum rb_replan_verdict despair(struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now,
                                      const struct rb_replan_found *f, struct rb_buf *out)
{
    const double best = fmax(f->p_before, f->p_after);
    r->n_hopeless = best < NO_CHANCE ? r->n_hopeless + 1 : 0;
    const bool stops = r->mode == RB_DRIFT_STOP && r->n_hopeless >= RB_DRIFT_CHECKS;
    if (best >= r->confidence - RB_DRIFT_MARGIN || (r->said_hopeless && !stops))
        return RB_REPLAN_NOTHING;
    r->said_hopeless = true;
    write_reason(p, now, out);
    rb_buf_printf(out, "no other nodes for the stages to come keep both limits with more than %.2f; %.2f was asked",
                  best, r->confidence);
    return stops ? RB_REPLAN_STOP : RB_REPLAN_SAY;
}

static enum rb_replan_verdict decide(struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now,
                                     struct rb_event *out_advice, struct rb_buf *out)
{
    struct rb_replan_found f;
    const struct rb_engine *e = rb_prediction_engine(p);
    const int64_t share_us = now->deadline_us > 0 ? now->deadline_us / REST_SHARE : 0;
    r->rests_until_us = now->elapsed_us + (share_us > LEAST_REST_US ? share_us : LEAST_REST_US);
    r->below = 0;
    r->decided = true;
    if (!rb_replan_result(r->search, &f) || rb_engine_stage(e) != rb_replan_stage(r->search)) {
        if (r->by_hand && !now->over)
            rb_replanning_ask(r, p, now);
        return RB_REPLAN_NOTHING; // the run is further by now
    }
    r->for_less = r->by_hand ? f.p_before >= r->confidence : r->for_less;
    r->p_best = f.p_before;
    if (!is_taken(r, p, now, &f) && r->by_hand)
        return stay(r, p, now, &f, out);
    if (!is_taken(r, p, now, &f))
        return r->for_less ? RB_REPLAN_NOTHING : despair(r, p, now, &f, out);
    r->p_best = f.p_after;
    write_reason(p, now, out);
    write_taken(rb_engine_present_plan(e), &f, out);
    *out_advice = (struct rb_event){
        .kind = RB_EVENT_ADVICE,
        .changes = f.changes,
        .n_changes = f.n,
        .admit_until_us = f.admit_until_us,
        .because = rb_buf_str(out)};
    r->n_hopeless = 0;
    return RB_REPLAN_TAKE;
}

enum rb_replan_verdict rb_replanning_work(struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now,
                                          struct rb_event *out_advice, struct rb_buf *out)
{
    const int64_t from_us = rb_clock_monotonic_us();
    if (!rb_replanning_is_busy(r))
        return RB_REPLAN_NOTHING;
    while (!rb_replan_step(r->search)) {
        if (rb_clock_monotonic_us() - from_us > SLICE_US)
            return RB_REPLAN_NOTHING;
    }
    return decide(r, p, now, out_advice, out);
}
