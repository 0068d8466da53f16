#include "views/run/following.h"

#include "base/clock.h"
#include "executor/controller/spend.h"
#include "executor/report/report.h"
#include "executor/run/replanning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rb_following_open(struct rb_following *f, const char *state_dir, const char *run, struct rb_err *err)
{
    *f = (struct rb_following){.over_us = -1};
    rb_arena_init(&f->files.arena);
    rb_arena_init(&f->rows);
    if (!rb_run_files_open(&f->files, state_dir, run, err) ||
        !rb_journal_open_reader(f->files.journal, &f->journal, err))
        return false;
    f->standing.prediction = rb_prediction_create(&f->files.plan);
    return rb_prediction_engine(f->standing.prediction) ||
           rb_err_set(err, RB_E_NOT_SUPPORTED, "%s/plan.json: its policy or scheduler is unknown to this version",
                      f->files.dir);
}

void rb_following_finish(struct rb_following *f)
{
    for (int i = 0; i < f->n_lines; i++)
        free((char *)f->lines[i].text);
    rb_prediction_destroy(f->standing.prediction);
    rb_journal_close(f->journal);
    rb_arena_finish(&f->rows);
    rb_run_files_finish(&f->files);
}

// ---- events

static void add_line(struct rb_following *f, int64_t time_us, const char *text)
{
    if (f->n_lines == RB_FOLLOWING_LINES) {
        free((char *)f->lines[0].text);
        memmove(f->lines, f->lines + 1, (RB_FOLLOWING_LINES - 1) * sizeof f->lines[0]);
        f->n_lines--;
    }
    f->lines[f->n_lines++] = (struct rb_run_screen_line){time_us, rb_xstrdup(text)};
    if (f->line)
        f->line(f->line_ctx, time_us, text);
}

static bool take_event(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct rb_following *f = ctx;
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    (void)err;
    rb_prediction_event(f->standing.prediction, e);
    f->last_us = e->time_us;
    if (rb_engine_outcome(rb_prediction_engine(f->standing.prediction), NULL) == RB_JOB_RUNNING)
        f->over_us = -1;
    else if (f->over_us < 0)
        f->over_us = e->time_us;
    rb_progress_event_write(e, &f->files.plan, &text);
    if (e->kind != RB_EVENT_TIME)
        add_line(f, e->time_us, rb_buf_str(&text));
    return true;
}

// Faults, replans and warnings are placed among the events by their time.
static bool take_notes(struct rb_following *f, struct rb_err *err)
{
    struct rb_note *notes;
    int n;
    if (!rb_journal_notes(f->journal, &f->rows, &notes, &n, err))
        return false;
    for (int i = (int)f->last_note; i < n; i++) {
        if (strcmp(notes[i].kind, RB_REPLANNING_NOTE) == 0)
            continue; // for the process that takes over
        RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
        rb_buf_printf(&text, "%s: %s", notes[i].kind, notes[i].text);
        add_line(f, notes[i].time_us, rb_buf_str(&text));
        for (int k = f->n_lines - 1; k > 0 && f->lines[k - 1].time_us > f->lines[k].time_us; k--) {
            const struct rb_run_screen_line later = f->lines[k - 1];
            f->lines[k - 1] = f->lines[k];
            f->lines[k] = later;
        }
    }
    f->last_note = n;
    return true;
}

// ---- the present state

static bool take_node(struct rb_following *f, const struct rb_launch_row *row, const struct rb_spend_now *now,
                      struct rb_run_screen_node *out, struct rb_err *err)
{
    struct rb_billing billing;
    if (row->offer < 0 || row->offer >= f->files.plan.n_offers)
        return rb_journal_misfit(f->journal, err, "it names offer %d, which the plan does not have", row->offer);
    if (!rb_spend_billing(&f->files.plan, row->offer, &billing, err))
        return false;
    *out = (struct rb_run_screen_node){
        .node = row->node,
        .id = row->instance_id,
        .infra = row->infra,
        .instance_type = row->instance_type,
        .market = row->market,
        .state = rb_launch_state_name(row->state),
        .cost_uusd = rb_spend_bill(&billing, row, now).total_uusd,
        .ended = row->state == RB_LAUNCH_GONE,
    };
    return true;
}

static bool take_nodes(struct rb_following *f, const struct rb_spend_now *now, struct rb_err *err)
{
    struct rb_launch_row *rows;
    int n_rows, n = 0;
    if (!rb_journal_launches(f->journal, &f->rows, &rows, &n_rows, err))
        return false;
    struct rb_run_screen_node *nodes = rb_arena_array(&f->rows, (size_t)n_rows + 1, sizeof *nodes);
    f->screen.progress.spent_uusd = 0;
    for (int i = 0; i < n_rows; i++) {
        if (rows[i].state == RB_LAUNCH_REFUSED)
            continue;
        if (!take_node(f, &rows[i], now, &nodes[n], err))
            return false;
        f->screen.progress.spent_uusd += nodes[n++].cost_uusd;
    }
    f->screen.nodes = nodes;
    f->screen.n_nodes = n;
    return true;
}

// If no process executes the run, the known state ends with the last event.
static struct rb_spend_now now_of(const struct rb_following *f, const struct rb_journal_meta *meta)
{
    int64_t run_us = f->last_us;
    if (f->screen.pid) {
        const int64_t wall_us = rb_clock_unix_us() - meta->started_unix_us;
        run_us = wall_us > run_us ? wall_us : run_us;
    }
    return (struct rb_spend_now){meta->started_unix_us + run_us, run_us};
}

static void say_state(struct rb_following *f, enum rb_job_outcome outcome, enum rb_stop_reason reason)
{
    struct rb_run_screen *r = &f->screen;
    r->state = rb_report_outcome(outcome, reason, r->pid != 0, f->state);
    r->hint = NULL;
    if (r->pid || rb_job_is_final(outcome))
        return;
    if (outcome == RB_JOB_STOPPED && reason == RB_STOP_BROKEN_SCRIPT)
        snprintf(f->hint, sizeof f->hint, "correct the script and start a new run; its output: rbrun logs %s",
                 r->run_id);
    else
        snprintf(f->hint, sizeof f->hint, "%s; continue with: rbrun resume %s",
                 outcome == RB_JOB_RUNNING ? "no process executes it" : "it can be resumed", r->run_id);
    r->hint = f->hint;
}

static void foresee(struct rb_following *f, bool settle, enum rb_job_outcome outcome)
{
    struct rb_progress *p = &f->screen.progress;
    if (outcome != RB_JOB_RUNNING || !f->screen.pid) {
        rb_progress_set_unknown(p, outcome == RB_JOB_RUNNING ? "no process executes it" : "the run is over");
        return;
    }
    if (settle)
        rb_standing_settle(&f->standing, p);
    else
        rb_standing_work(&f->standing, p);
    rb_standing_report(&f->standing, p);
}

bool rb_following_look(struct rb_following *f, bool settle, struct rb_err *err)
{
    struct rb_run_screen *r = &f->screen;
    struct rb_journal_meta meta;
    enum rb_stop_reason reason = RB_STOP_USER;
    rb_arena_finish(&f->rows);
    rb_arena_init(&f->rows);
    if (!rb_run_holder(f->files.journal, &r->pid, err) || !rb_journal_meta(f->journal, &f->rows, &meta, err) ||
        !rb_journal_each_event_after(f->journal, &f->last_event, take_event, f, err) || !take_notes(f, err))
        return false;
    const struct rb_spend_now now = now_of(f, &meta);
    r->run_id = f->files.run_id;
    r->plan = &f->files.plan;
    r->engine = rb_prediction_engine(f->standing.prediction);
    r->lines = f->lines;
    r->n_lines = f->n_lines;
    rb_progress_of_engine(r->engine, r->plan, &r->progress);
    r->progress.elapsed_us = f->over_us >= 0 ? f->over_us : now.run_us;
    r->progress.deadline_us = meta.deadline_us;
    r->progress.budget_uusd = meta.budget_uusd;
    const enum rb_job_outcome outcome = rb_engine_outcome(r->engine, &reason);
    say_state(f, outcome, reason);
    if (!take_nodes(f, &now, err))
        return false;
    foresee(f, settle, outcome);
    f->news = f->last_event + f->last_note;
    return !f->look_on || f->look_on(f->look_on_ctx, settle, err);
}

bool rb_following_is_over(const struct rb_following *f)
{
    return f->screen.pid == 0;
}
