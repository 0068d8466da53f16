// rbrun list and replay: read runs from their journals, whether or not a process executes them.
#include "commands/rbrun/rbrun.h"

#include "executor/report/report.h"
#include "executor/run/replay.h"
#include "views/run/run_list.h"

static const struct rb_option look_options[] = {RB_RUN_COMMON_OPTIONS, {0}};

// --- list

static bool list(const struct rb_args *args, struct rb_err *err)
{
    const struct rb_run_sources own = {.state_dir = rb_run_state_dir(args)};
    return rb_run_list_print(&own, rb_args_flag(args, "json"), err);
}

const struct rb_command rb_run_list = {
    .name = "rbrun list",
    .usage = "[options]",
    .summary = "Lists every run, newest first: how it ended, how long it took, what it cost.",
    .examples = "  rbrun list\n  rbrun list --json\n",
    .options = look_options,
    .run = list,
};

// --- replay

static void write_json(const struct rb_replay *r, const char *run_id, const char *outcome, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{format: 'rb-replay/1' run: %s events: %d orders: %d orders_differing: %d outcome: %s", run_id,
                r->n_events, r->n_orders, r->n_missing, outcome);
    rb_json_put(&j, "launches_open: %d}", r->n_open);
    rb_buf_putc(out, '\n');
}

static bool print_replay(const struct rb_replay *r, const char *run_id, bool at_work, bool json, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    char text[64];
    rb_report_outcome(r->outcome, r->reason, at_work, text);
    if (json)
        write_json(r, run_id, text, &out);
    else
        rb_buf_printf(
            &out, "%s: %d events led to %d orders; %d orders differ from the journal; %s; %d launches without an end\n",
            run_id, r->n_events, r->n_orders, r->n_missing, text, r->n_open);
    if (!rb_print(&out, err))
        return false;
    return json || r->n_missing == 0 ||
           rb_err_set(err, RB_E_REPLAY_DIFFERS,
                      "the engine's orders differ from those in the journal: was this run made by another version?");
}

static bool replay(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_journal *journal;
    struct rb_replay r;
    int pid;
    if (!rb_run_files_open(&f, rb_run_state_dir(args), args->n_args ? args->args[0] : NULL, err) ||
        !rb_journal_open_reader(f.journal, &journal, err))
        return false;
    const bool ok = rb_run_holder(f.journal, &pid, err) && rb_replay_journal(journal, &f.plan, &r, err) &&
                    print_replay(&r, f.run_id, pid != 0, rb_args_flag(args, "json"), err);
    *args->out_code = ok && r.n_missing > 0; // where it is no error: there is one document
    rb_journal_close(journal);
    return ok;
}

const struct rb_command rb_run_replay = {
    .name = "rbrun replay",
    .usage = "[options] [RUN]",
    .summary = "Steps the journal's events through a fresh engine and checks that its orders are those that "
               "were recorded.",
    .examples = "  rbrun replay\n  rbrun replay digits-2026\n",
    .options = look_options,
    .max_args = 1,
    .run = replay,
};
