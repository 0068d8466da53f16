#include "executor/run/stop.h"

#include "base/errors/log.h"
#include "executor/journal/journal.h"
#include "executor/journal/run_lock.h"
#include "executor/run/reaction.h"
#include "executor/run/replanning.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum {
    STOP_POLL_US = 100000,
    STOP_REPORT_POLLS = 200,     // between two lines about what it waits for
    SUSPENDED_REPORT_POLLS = 20, // before the process is reported as suspended
    SUSPENDED_POLLS = 320,       // and how long it is waited for at most
    LEAVE_POLLS = 1200,          // a process that is ending its run may take this long
    START_POLLS = 20,            // a process that has just taken the lock has written its number by then
};

// The controller reports to its own terminal, which may be another one.
static void report_waiting(const struct rb_run_files *f, int pid)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_journal *journal = NULL;
    struct rb_note *notes;
    int n = 0;
    if (rb_journal_open_reader(f->journal, &journal, NULL))
        rb_journal_notes(journal, &arena, &notes, &n, NULL);
    while (n > 0 && strcmp(notes[n - 1].kind, RB_REPLANNING_NOTE) == 0)
        n--; // not for people
    const bool spoke = n > 0;
    rb_info("process %d has not ended yet%s%s (Ctrl-C ends this waiting, not the stop)", pid,
            spoke ? "; its last message: " : "", spoke ? notes[n - 1].text : "");
    rb_journal_close(journal);
}

// A suspended process ends nothing. Reports that once; false: it has stayed suspended for too long.
static bool mind_suspension(const struct rb_run_files *f, int pid, int64_t switches, int *n_polls, struct rb_err *err)
{
    const enum rb_reaction reaction = rb_process_reaction(pid, switches);
    if (reaction == RB_REACTION_SEEN) {
        *n_polls = 0;
        return true;
    }
    const bool stopped = reaction == RB_REACTION_STOPPED;
    if (++*n_polls == SUSPENDED_REPORT_POLLS && stopped)
        rb_info("process %d is stopped (Ctrl-Z, kill -STOP or a debugger), and ends nothing before it continues: "
                "continue it "
                "with `kill -CONT %d`",
                pid, pid);
    else if (*n_polls == SUSPENDED_REPORT_POLLS)
        rb_info("process %d has not reacted yet: is it frozen (docker pause)? It ends its run as soon as it continues",
                pid);
    if (*n_polls < SUSPENDED_POLLS)
        return true;
    return rb_err_set(
        err, RB_E_STOP_SUSPENDED,
        "process %d %s after %d s, so run %s is not ended: continue it (%s%s%d%s), and it ends its run as it "
        "was asked; or end it with `kill -9 %d`, then its run with `rbrun stop %s`",
        pid, stopped ? "is still stopped" : "has still not reacted", SUSPENDED_POLLS / (1000000 / STOP_POLL_US),
        f->run_id, stopped ? "`kill -CONT " : "", stopped ? "" : "process ", pid, stopped ? "`" : "", pid, f->run_id);
}

// The controller ends everything itself; we wait until it releases the journal.
static bool wait_for(const struct rb_run_files *f, int pid, int64_t switches, struct rb_err *err)
{
    int holder = pid, n_suspended = 0;
    rb_info("run %s: asked process %d to stop; waiting until its instances are gone", f->run_id, pid);
    for (int i = 1; holder == pid; i++) {
        usleep(STOP_POLL_US);
        if (!mind_suspension(f, pid, switches, &n_suspended, err))
            return false;
        if (i % STOP_REPORT_POLLS == 0 && n_suspended < SUSPENDED_REPORT_POLLS)
            report_waiting(f, pid);
        if (!rb_run_holder(f->journal, &holder, err))
            return false;
    }
    return true;
}

// The process that executes the run. One that is just starting writes its number within moments.
bool rb_run_find_process(const struct rb_run_files *f, int *out_pid, struct rb_err *err)
{
    struct rb_run_lock lock;
    char who[160];
    for (int i = 0; i < START_POLLS; i++) {
        if (!rb_run_lock_look(f->journal, &lock, err))
            return false;
        *out_pid = lock.state == RB_RUN_LOCK_HELD ? lock.pid : 0;
        if (lock.state != RB_RUN_LOCK_HELD || lock.pid > 0)
            return true;
        if (lock.host[0])
            break;
        usleep(STOP_POLL_US);
    }
    return rb_err_set(err, RB_E_STOP_FAILED, "run %s is executed by %s, which cannot be asked from here: stop it there",
                      f->run_id, rb_run_lock_words(&lock, who));
}

bool rb_run_stop_process(const struct rb_run_files *f, int pid, struct rb_err *err)
{
    const int64_t switches = rb_process_switches(pid);
    if (kill(pid, SIGTERM) != 0)
        return rb_err_set(err, RB_E_STOP_FAILED, "process %d cannot be asked to stop: %s", pid, strerror(errno));
    return wait_for(f, pid, switches, err);
}

static bool has_not_left(const struct rb_run_files *f, int pid, bool stopped, struct rb_err *err)
{
    return rb_err_set(err, RB_E_LEAVE_SILENT,
                      "process %d was asked to leave run %s and %s: %s%d%s, then repeat this command; it leaves as soon as "
                      "it can, and until then the run is where it was",
                      pid, f->run_id, stopped ? "is stopped" : "has not yet",
                      stopped ? "continue it with `kill -CONT " : "wait for process ", pid, stopped ? "`" : "");
}

bool rb_run_leave_process(const struct rb_run_files *f, int pid, struct rb_err *err)
{
    const int64_t switches = rb_process_switches(pid);
    enum rb_reaction reaction = RB_REACTION_SEEN;
    int holder = pid;
    if (kill(pid, RB_LEAVE_SIGNAL) != 0)
        return rb_err_set(err, RB_E_STOP_FAILED, "process %d cannot be asked to leave: %s", pid, strerror(errno));
    for (int i = 0, unseen = 0; i < LEAVE_POLLS && unseen < SUSPENDED_POLLS; i++) {
        usleep(STOP_POLL_US);
        if (!rb_run_holder(f->journal, &holder, err))
            return false;
        if (holder != pid)
            return true;
        reaction = rb_process_reaction(pid, switches);
        unseen = reaction == RB_REACTION_SEEN ? 0 : unseen + 1;
    }
    return has_not_left(f, pid, reaction == RB_REACTION_STOPPED, err);
}
