// rbrun list and replay: read runs from their journals, whether or not a process executes them.
#include "commands/rbrun/rbrun.h"

#include "executor/report/report.h"
#include "executor/run/replay.h"
#include "views/run/run_list.h"

static const struct rb_option look_options[] = {RB_RUN_COMMON_OPTIONS, {0}};

// --- list

static const struct rb_command list_command = {
    .name = "rbrun list",
    .usage = "[options]",
    .summary = "Lists every run, newest first: how it ended, how long it took, what it cost.",
    .examples = "  rbrun list\n  rbrun list --json\n",
    .options = look_options,
};

static bool list(const struct rb_args *args, int *out_code, struct rb_err *err)
{
    (void)out_code;
    const struct rb_run_sources own = {.state_dir = rb_run_state_dir(args)};
    return rb_run_list_print(&own, rb_args_flag(args, "json"), err);
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

static void write_json(const struct rb_replay *r, const char *run_id, const char *outcome, struct rb_buf *out)
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
    rb_json_kint(&j, "launches_open", r->n_open);
    rb_json_end_object(&j);
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

static bool replay(const struct rb_args *args, int *out_code, struct rb_err *err)
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
    *out_code = ok && r.n_missing > 0; // where it is no error: there is one document
    rb_journal_close(journal);
    return ok;
}

int rb_run_replay(int argc, char **argv)
{
    return rb_run_carry_out(&replay_command, replay, argc, argv);
}
