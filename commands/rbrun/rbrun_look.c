// rbrun list and replay: looking at runs from their journals, whether or not a controller is
// at work.
#include "commands/rbrun/rbrun.h"

#include "base/log.h"
#include "engine/core/engine.h"
#include "executor/journal/run_dir.h"
#include "executor/report/report.h"
#include "views/tables/report_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct rb_option look_options[] = {RB_RUN_COMMON_OPTIONS, {0}};

// A run opened for reading.
struct look {
    struct rb_run_files f;
    struct rb_journal *journal;
    int pid; // of its controller; 0: none is at work, -1: one that has no number here
};

static void look_finish(struct look *l)
{
    rb_journal_close(l->journal);
    rb_run_files_finish(&l->f);
}

static bool look_open(struct look *l, const struct rb_args *args, const char *run, struct rb_err *err)
{
    return rb_run_files_open(&l->f, rb_run_state_dir(args), run, err) &&
           rb_journal_open_reader(l->f.journal, &l->journal, err) && rb_run_holder(l->f.journal, &l->pid, err);
}

static const char *first_arg(const struct rb_args *args)
{
    return args->n_args ? args->args[0] : NULL;
}

// --- list

static const struct rb_command list_command = {
    .name = "rbrun list",
    .usage = "[options]",
    .summary = "Every run, newest first: how it ended, how long it took, what it cost.",
    .examples = "  rbrun list\n  rbrun list --json\n",
    .options = look_options,
};

static const struct rb_text_column list_columns[] = {
    {"run", false, 0}, {"outcome", false, 0}, {"time", true, 0}, {"cost", true, 0}, {"best", true, 1}};

struct listing {
    const struct rb_args *args;
    struct rb_text_table table;
    struct rb_json json;
    bool as_json;
    int n;
};

// r NULL: the run cannot be read, `text` says why; else text is its outcome.
static void list_member(struct listing *to, const char *run_id, const struct rb_report *r, const char *text)
{
    struct rb_json *j = &to->json;
    rb_json_begin_object(j);
    rb_json_kstring(j, "run", run_id);
    rb_json_kstring(j, "outcome", r ? text : "unreadable");
    if (r) {
        rb_json_kint(j, "time_us", r->time_us);
        rb_json_kint(j, "cost_uusd", r->cost_uusd);
    } else {
        rb_json_kstring(j, "time_us", NULL);
        rb_json_kstring(j, "cost_uusd", NULL);
    }
    rb_json_kstring(j, "error", r ? NULL : text);
    rb_json_end_object(j);
}

static void list_unreadable(struct listing *to, const char *run_id, const struct rb_err *why)
{
    if (to->as_json) {
        list_member(to, run_id, NULL, why->message);
        return;
    }
    rb_text_table_cell(&to->table, "%s", run_id);
    rb_text_table_cell(&to->table, "%s", rb_err_number(why) == RB_E_JOURNAL_DAMAGED ? "journal damaged" : "unreadable");
    for (int i = 0; i < 3; i++)
        rb_text_table_cell(&to->table, "-");
    rb_warn("%s", why->message);
}

static void list_row(struct listing *to, const struct rb_report *r, const char *outcome)
{
    char time[32], cost[32];
    rb_text_table_cell(&to->table, "%s", r->run_id);
    rb_text_table_cell(&to->table, "%s", rb_report_outcome_words(outcome));
    rb_text_table_cell(&to->table, "%s", rb_format_duration(r->time_us, time));
    rb_text_table_cell(&to->table, "%s", rb_format_money(r->cost_uusd, cost));
    if (r->best_trial >= 0)
        rb_text_table_cell(&to->table, "%.6g", r->best_metric);
    else
        rb_text_table_cell(&to->table, "-");
}

static void list_one(void *ctx, const char *run_id, const char *dir)
{
    struct listing *to = ctx;
    to->n++;
    RB_AUTO(look_finish) struct look l = {0};
    struct rb_report r;
    struct rb_err err;
    char text[64];
    (void)dir;
    if (!look_open(&l, to->args, run_id, &err) || !rb_report_make(l.journal, &l.f.plan, &l.f.arena, &r, &err)) {
        rb_run_say_what_helps(&err);
        list_unreadable(to, run_id, &err);
        return;
    }
    const char *outcome = rb_report_outcome(r.outcome, r.reason, l.pid != 0, text);
    if (to->as_json)
        list_member(to, r.run_id, &r, outcome);
    else
        list_row(to, &r, outcome);
}

static bool list(const struct rb_args *args, int *out_code, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct listing to = {.args = args, .as_json = rb_args_flag(args, "json")};
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    char root[4096];
    (void)out_code;
    if (!rb_run_dir_root(rb_run_state_dir(args), root, sizeof root, err))
        return false;
    rb_text_table_init(&to.table, list_columns, 5);
    rb_json_init(&to.json, &out, false);
    if (to.as_json) {
        rb_json_begin_object(&to.json);
        rb_json_kstring(&to.json, "format", "rb-runs/1");
        rb_json_key(&to.json, "runs");
        rb_json_begin_array(&to.json);
    }
    const bool ok = rb_run_dir_each(root, list_one, &to, err);
    if (to.as_json) {
        rb_json_end_array(&to.json);
        rb_json_end_object(&to.json);
        rb_buf_putc(&out, '\n');
    } else {
        rb_text_table_write(&to.table, &style, &out);
    }
    rb_text_table_finish(&to.table);
    if (ok && !to.as_json && to.n == 0)
        rb_info("no run under %s yet; start one with `rbrun plan.json`", root);
    return ok && rb_print(&out, err);
}

int rb_run_list(int argc, char **argv)
{
    return rb_run_carry_out(&list_command, list, argc, argv);
}

// --- replay

static const struct rb_command replay_command = {
    .name = "rbrun replay",
    .usage = "[options] [RUN]",
    .summary = "Steps the journal's events through a fresh engine and checks that its orders are those that "
               "were recorded.",
    .examples = "  rbrun replay\n  rbrun replay digits-2026\n",
    .options = look_options,
    .max_args = 1,
};

struct replay {
    const struct rb_plan *plan;
    bool at_work; // some process carries the run on
    struct rb_engine *engine;
    struct rb_actions actions;
    struct rb_launch_row *launches;
    struct rb_task_row *tasks;
    int n_launches, n_tasks;
    int *n_starts; // by trial
    int n_trials;
    int n_events, n_orders, n_missing;
};

// What runs may be a stand-in, or on another market than was asked for: the engine need not know.
static bool same_work(const struct rb_plan *plan, int offer, int launched)
{
    if (launched < 0 || launched >= plan->n_offers)
        return false;
    const struct rb_offer *a = &plan->offers[offer], *b = &plan->offers[launched];
    return a->gpus == b->gpus && strcmp(a->accelerator, b->accelerator) == 0;
}

static bool launch_recorded(const struct replay *r, const struct rb_action *a)
{
    for (int i = 0; i < r->n_launches; i++) {
        if (r->launches[i].node == a->node && r->launches[i].attempt == a->attempt)
            return same_work(r->plan, a->offer, r->launches[i].offer);
    }
    return false;
}

static bool start_recorded(struct replay *r, const struct rb_action *a)
{
    if (a->trial >= r->n_trials) {
        r->n_starts = rb_xrealloc(r->n_starts, (size_t)a->trial + 1, sizeof *r->n_starts);
        while (r->n_trials <= a->trial)
            r->n_starts[r->n_trials++] = 0;
    }
    const int start = r->n_starts[a->trial]++;
    for (int i = 0; i < r->n_tasks; i++) {
        const struct rb_task_row *t = &r->tasks[i];
        if (t->trial == a->trial && t->start == start)
            return t->stage == a->stage && t->attempt == a->attempt && t->n_slots == a->n_slots &&
                   t->slots[0].node == a->slots[0].node && t->slots[0].gpus == a->slots[0].gpus;
    }
    return false;
}

static bool replay_event(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct replay *r = ctx;
    (void)err;
    rb_engine_step(r->engine, e, &r->actions);
    r->n_events++;
    for (int i = 0; i < r->actions.n; i++) {
        const struct rb_action *a = &r->actions.items[i];
        bool recorded = true;
        if (a->kind == RB_ACTION_PROVISION)
            recorded = launch_recorded(r, a);
        else if (a->kind == RB_ACTION_START_TRIAL)
            recorded = start_recorded(r, a);
        r->n_orders++;
        r->n_missing += !recorded;
        if (!recorded)
            rb_warn("event %d: order %s of %s %d (attempt %d) does not stand in the journal", r->n_events,
                    rb_action_kind_name(a->kind), a->kind == RB_ACTION_PROVISION ? "node" : "trial",
                    a->kind == RB_ACTION_PROVISION ? a->node : a->trial, a->attempt);
    }
    return true;
}

static int count_open(const struct replay *r)
{
    int n = 0;
    for (int i = 0; i < r->n_launches; i++)
        n += r->launches[i].state != RB_LAUNCH_GONE && r->launches[i].state != RB_LAUNCH_REFUSED;
    return n;
}

static void replay_json(const struct replay *r, const char *run_id, const char *outcome, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-replay/1");
    rb_json_kstring(&j, "run", run_id);
    rb_json_kint(&j, "events", r->n_events);
    rb_json_kint(&j, "orders", r->n_orders);
    rb_json_kint(&j, "orders_differing", r->n_missing);
    rb_json_kstring(&j, "outcome", outcome);
    rb_json_kint(&j, "launches_open", count_open(r));
    rb_json_end_object(&j);
    rb_buf_putc(out, '\n');
}

static bool replay_print(const struct replay *r, const char *run_id, bool json, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    char text[64];
    enum rb_stop_reason reason = RB_STOP_USER;
    const enum rb_job_outcome outcome = rb_engine_outcome(r->engine, &reason);
    rb_report_outcome(outcome, reason, r->at_work, text);
    if (json)
        replay_json(r, run_id, text, &out);
    else
        rb_buf_printf(
            &out, "%s: %d events led to %d orders; %d orders differ from the journal; %s; %d launches without an end\n",
            run_id, r->n_events, r->n_orders, r->n_missing, text, count_open(r));
    return rb_print(&out, err);
}

static bool replay_all(struct look *l, struct replay *r, bool json, struct rb_err *err)
{
    if (!rb_journal_launches(l->journal, &l->f.arena, &r->launches, &r->n_launches, err) ||
        !rb_journal_tasks(l->journal, &l->f.arena, &r->tasks, &r->n_tasks, err) ||
        !rb_journal_each_event(l->journal, replay_event, r, err) || !replay_print(r, l->f.run_id, json, err))
        return false;
    return json || r->n_missing == 0 ||
           rb_err_set(err, RB_E_REPLAY_DIFFERS,
                      "the engine does not say what it said then: was this run made by another version?");
}

static bool replay(const struct rb_args *args, int *out_code, struct rb_err *err)
{
    RB_AUTO(look_finish) struct look l = {0};
    struct replay r = {.plan = &l.f.plan};
    const bool json = rb_args_flag(args, "json");
    if (!look_open(&l, args, first_arg(args), err) || !rb_engine_create(&l.f.plan, &r.engine, err))
        return false;
    r.at_work = l.pid != 0;
    const bool ok = replay_all(&l, &r, json, err);
    *out_code = r.n_missing > 0; // where it is no error: there is one document
    rb_engine_destroy(r.engine);
    rb_actions_finish(&r.actions);
    free(r.n_starts);
    return ok;
}

int rb_run_replay(int argc, char **argv)
{
    return rb_run_carry_out(&replay_command, replay, argc, argv);
}
