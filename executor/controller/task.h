// A task: one start of a trial, whose processes may exist. Inside the controller only.
//   task.c         from the row that orders a task to the certainty that its processes are over
//   task_start.c   hands tasks to the launcher
//   task_output.c  reports, exits, checkpoints
//   task_keep.c    checkpoints from the middle of a stage
//   task_yield.c   asks trials to save and exit
//   task_stop.c    ends trials that do not end themselves (trial.stop: saved)
// The row's state is journalled (enum rb_task_state); `process` is what the launcher knows.
#ifndef RB_EXECUTOR_TASK_H
#define RB_EXECUTOR_TASK_H

#include "base/silence.h"
#include "executor/controller/states.h"
#include "executor/journal/journal.h"
#include "executor/launcher/last_lines.h"
#include "executor/metrics/metric_reader.h"

struct rb_action;
struct rb_controller;

enum {
    RB_CONTROLLER_SAVE_TRIES = 3,
    RB_CONTROLLER_REST_MS = 2000,        // files that have not changed for this long were saved whole
    RB_CONTROLLER_LEAST_REST_MS = 200,   // where units are shorter than twice as long: half a unit, at least this
    RB_CONTROLLER_YIELD_S = 60,          // to save and exit, in addition to the time of a unit
    RB_CONTROLLER_YIELD_UNSEEN_S = 1800, // where no unit was seen, and no trial.timeout limits it
    RB_CONTROLLER_HELD_UP_S = 300,       // how long this machine may be full before the run stops
    RB_CONTROLLER_HELD_UP_PAUSE_S = 30,  // no command failed to start for this long: the machine is no longer full
};

struct rb_run_task {
    struct rb_controller *c;
    struct rb_task_row row; // as journalled; slots owned
    enum rb_process_state process;
    bool beyond;                  // trained past the end of its stage, and is being ended there
    int save_tries;
    int64_t kept_us;              // when its last midway checkpoint was safe, as far as this controller knows; 0: none
    int64_t last_resource;        // reported by this start, -1: nothing yet
    struct rb_metric_reader *reader; // of its output, once it was started
    bool stopping;                // trial.stop: saved: it has reported all, and is ended once it has saved
    int64_t trained_to;           // the last report, also beyond the end of its stage
    int64_t trained_us;           // when that came; attended time
    uint64_t timer;               // the next try to save
    struct rb_silence silence;    // between its reports; when its patience ends, the trial hangs
    struct rb_silence yielding;   // the engine asked it to yield; when its patience ends, the trial is killed
    // What a silence of it leads to, once its node has shown that the trial is silent, and not the network. NULL: nothing.
    void (*verdict)(struct rb_run_task *t);
    int64_t last_report_us;       // or when the launcher got the task; attended time
    int64_t longest_unit_us;      // between two reports; the start counts as one; -1: none seen
    struct rb_step_lines steps;   // since its last report
    struct rb_last_lines printed; // of its output, without reports
    bool announces;               // midway checkpoints: its files are then not looked at
    // Its reports as they are read, again after a reconnect: the last one and the one before, and those when its files began to
    // change; resource_start: none.
    struct rb_read_reports {
        int64_t last, before;
    } read, changed;
    bool said_unkept;             // that a midway checkpoint of it could not be kept
};

struct rb_run_trial {
    int n_starts;
    int64_t last_resource; // of the last start; for the recovery
    int full_nodes;        // that had no room for it since its last new report; they count as lost
    bool asked;            // by the engine, to yield, since its last start
    bool asked_configuration; // from the suggester
    char checkpoint[512];  // of the last save, midway ones included, as in the row
};

// task.c
struct rb_run_trial *rb_run_trial_at(struct rb_controller *c, int trial);   // created if new
void rb_run_trial_begin_start(struct rb_controller *c, int trial);          // forgets the state of the previous start
struct rb_run_task *rb_run_task_find(struct rb_controller *c, int trial, int start); // NULL: not open
struct rb_run_task *rb_run_task_find_live(struct rb_controller *c, int trial);       // likewise
bool rb_run_task_is_live(const struct rb_run_task *t);                      // neither over nor being killed
struct rb_run_task *rb_run_task_open(struct rb_controller *c, const struct rb_task_row *row); // copies the slots
void rb_run_task_close(struct rb_run_task *t);                              // its processes are over; frees it
void rb_run_task_disarm(struct rb_run_task *t);                             // no event is expected of it from now on
bool rb_run_task_write(struct rb_run_task *t);                              // its row; false: the journal failed
void rb_run_task_record_start(struct rb_controller *c, const struct rb_action *a);
void rb_run_task_record_kill(struct rb_controller *c, struct rb_run_task *t);
void rb_run_task_record_over(struct rb_run_task *t, enum rb_task_state state); // its last row
void rb_run_task_kill(struct rb_run_task *t);
void rb_run_task_give_up(struct rb_run_task *t, enum rb_outcome outcome); // in a transaction: ended by us; kills it
void rb_run_task_killed(void *ctx, int trial, int start); // the launcher's event
void rb_controller_free_tasks(struct rb_controller *c);

// task_start.c
void rb_controller_start_tasks(struct rb_controller *c); // gives the launcher the tasks that it may start now

// task_stop.c
void rb_run_task_stop(struct rb_run_task *t);                       // once it has reported all, if the job wants that
void rb_run_task_trained_on(struct rb_run_task *t, int64_t resource); // a report beyond the end, while it is being stopped
void rb_run_task_ask_to_save(struct rb_run_task *t, const char *why); // to give way: the newest state that it has saved
// It has ended with 0, having trained to the job's max_resource before it could be stopped: its state is none to go on from.
bool rb_run_task_overran(const struct rb_run_task *t);
void rb_run_task_describe_wait(const struct rb_run_task *t, char *out, size_t size); // what it is being waited for

// task_output.c; all but the first three are the launcher's events
void rb_run_task_await_report(struct rb_run_task *t); // a task that does not report hangs
// A silence of it has lasted too long: verdict is called once it is sure that nothing is on its way. Never, where it is not.
void rb_run_task_make_sure(struct rb_run_task *t, void (*verdict)(struct rb_run_task *t));
void rb_run_task_begin_output(struct rb_run_task *t); // nothing is read of it yet
void rb_run_task_line(void *ctx, int trial, int start, const char *bytes, size_t n);
void rb_run_task_file(void *ctx, int trial, int start, const char *name, const char *bytes, size_t n, bool restart);
void rb_run_task_again(void *ctx, int trial, int start);
void rb_run_task_echoed(void *ctx, int trial, int start);
void rb_run_task_exited(void *ctx, int trial, int start, int exit_code);
void rb_run_task_linked(void *ctx, int trial, const char *name);
void rb_run_task_held_up(void *ctx, int trial, const struct rb_err *err); // this machine is full
void rb_run_task_saved(void *ctx, int trial, int start, const char *checkpoint, const struct rb_err *err);

// node_leaving.c
// Must one of its nodes go? The reason is what its RB_PREEMPT_FILE says.
bool rb_run_task_is_leaving(const struct rb_run_task *t, int64_t *out_left_us, const char **out_reason);

// task_keep.c
void rb_run_task_announced(struct rb_run_task *t, const struct rb_metric_line *report);
void rb_run_task_rested(void *ctx, int trial, int start, const char *name); // the launcher's event
void rb_run_task_kept(void *ctx, int trial, int start, int64_t resource, const char *checkpoint,
                      const struct rb_err *err); // the launcher's event
void rb_run_task_use_checkpoint(struct rb_run_task *t, const char *checkpoint); // into its row and the trial; unwritten
// Removes the trial's midway checkpoints but the last one: a later one, or that of a stage's end, is safe.
void rb_run_task_drop_midway(struct rb_controller *c, int trial, int start, const char *before);
int64_t rb_run_task_keep_every_s(const struct rb_run_task *t); // RB_CHECKPOINT_EVERY_S

// task_yield.c
void rb_run_task_yield(struct rb_run_task *t); // asks it to yield if the engine wants that and the launcher follows it
void rb_run_task_measure_report(struct rb_run_task *t);
void rb_run_task_measure_save(struct rb_run_task *t);
void rb_controller_arm_last_stretch(struct rb_controller *c); // before the deadline of an anytime job

#endif
