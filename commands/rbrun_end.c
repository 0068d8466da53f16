// rbrun stop: ending what runs.
#include "commands/rbrun.h"
#include "commands/rbrun_pool.h"
#include "commands/rbrun_session.h"

#include "base/log.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const struct rb_option stop_options[] = {RB_RUN_COMMON_OPTIONS, {0}};

static const struct rb_command stop_command = {
    .name = "rbrun stop",
    .usage = "[options] RUN",
    .summary = "Ends a run: its trials, its instances, and proves that none is left. It can be resumed later.",
    .examples = "  rbrun stop digits-2026\n",
    .options = stop_options,
    .min_args = 1,
    .max_args = 1,
};

enum { STOP_POLL_US = 100000, STOP_TELL_POLLS = 200 };

// What the controller says it says to its own terminal, which may be another.
static void tell_waiting(const struct rb_run_files *f, int pid)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_journal *journal = NULL;
    struct rb_note *notes;
    int n = 0;
    rb_arena_init(&arena);
    const bool spoke = rb_journal_open_reader(f->journal, &journal, NULL) &&
                       rb_journal_notes(journal, &arena, &notes, &n, NULL) && n > 0;
    rb_info("process %d has not ended yet%s%s (Ctrl-C ends this waiting, not the stop)", pid,
            spoke ? "; it said last: " : "", spoke ? notes[n - 1].text : "");
    rb_journal_close(journal);
}

// The controller ends everything itself; we wait until it lets go of the journal.
static bool wait_for(const struct rb_run_files *f, int pid, struct rb_err *err)
{
    int holder = pid;
    rb_info("run %s: asked process %d to stop; waiting until its instances are gone", f->run_id, pid);
    for (int i = 1; holder == pid; i++) {
        usleep(STOP_POLL_US);
        if (i % STOP_TELL_POLLS == 0)
            tell_waiting(f, pid);
        if (!rb_journal_lock_holder(f->journal, &holder, err))
            return false;
    }
    return true;
}

static bool stop(const struct rb_args *args, int *out_code, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f;
    struct rb_journal *journal;
    int pid;
    if (!rb_run_files_open(&f, args, args->args[0], err) || !rb_pool_check_alone(&f, "stop", err) ||
        !rb_journal_lock_holder(f.journal, &pid, err))
        return false;
    if (pid > 0) {
        if (kill(pid, SIGTERM) != 0)
            return rb_err_set(err, RB_E_STOP_FAILED, "process %d cannot be asked to stop: %s", pid, strerror(errno));
        if (!wait_for(&f, pid, err) || !rb_journal_open_reader(f.journal, &journal, err))
            return false;
        const bool ok = rb_run_report_print(journal, &f.plan, rb_run_is_carried_out(f.root, f.run_id),
                                            rb_args_flag(args, "json"), err);
        rb_journal_close(journal);
        return ok;
    }
    if (!rb_journal_open(f.journal, &journal, err))
        return false;
    const struct rb_session_options options = {.end_it = true, .json = rb_args_flag(args, "json")};
    const bool ok = rb_session_carry_out(&f, journal, &options, out_code, err);
    rb_journal_close(journal);
    return ok;
}

int rb_run_stop(int argc, char **argv)
{
    return rb_run_carry_out(&stop_command, stop, argc, argv);
}
