// The machine that was made for a run's controller, if there is one, in the process that carries the run out. On that machine the
// process is its heartbeat, and keeps it for a while once the run is over. The run's journal says which machine that is; it moves
// with the run, so the machine itself is known by the file that was sent to it (executor/away/machine.h). Anywhere else only the
// end of its bill is recorded.
#ifndef RB_EXECUTOR_OWN_MACHINE_H
#define RB_EXECUTOR_OWN_MACHINE_H

#include "executor/away/machine.h"
#include "executor/controller/controller.h"
#include "executor/journal/machine_row.h"
#include "executor/journal/run_files.h"

// {0} until it is read; journal, files, loop and places outlive it.
struct rb_own_machine {
    struct rb_machine_row row; // instance_id "": none was made
    struct rb_journal *journal;
    const struct rb_run_files *files;
    const struct rb_loop *loop;
    const struct rb_run_place *places; // [n_places]
    int n_places;
    bool is_here;        // this process is on it
    uint64_t beat_timer; // of its switch, 0: none
    void (*warn)(void *ctx, const char *text);
    void *ctx;
};

// Writes the machine of a run that begins on it into the journal.
bool rb_own_machine_record(const struct rb_machine *m, struct rb_journal *j, struct rb_err *err);

bool rb_own_machine_read(struct rb_own_machine *m, struct rb_journal *j, struct rb_err *err);
// Where it is here: moves its switch, or it would end before the run does. Error: SWITCH_NOT_ARMED.
bool rb_own_machine_begin(struct rb_own_machine *m, const struct rb_run_files *f, const struct rb_loop *loop,
                          struct rb_err *err);
// Where it is here: goes on moving its switch, and its lease where it has one of its own, and passes each failure to warn.
void rb_own_machine_beat(struct rb_own_machine *m, const struct rb_run_place *places, int n_places,
                         void (*warn)(void *ctx, const char *text), void *ctx);
// A listing shows that it has ended.
void rb_own_machine_ended(struct rb_own_machine *m, int64_t ended_unix_us);
// Where it is here: the run is over, and its files are on this machine. It stays for as long as the job says, then its switch
// ends it (executor/run/machine_keeper.h). lease_us: the length of a run's lease, 0: as usual.
void rb_own_machine_keep(struct rb_own_machine *m, int64_t lease_us);
void rb_own_machine_stop(struct rb_own_machine *m); // before its loop ends

#endif
