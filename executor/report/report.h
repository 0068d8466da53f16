// rb-report/1: what a run did and what it cost, beside the prediction, from the journal and the plan alone.
#ifndef RB_EXECUTOR_REPORT_H
#define RB_EXECUTOR_REPORT_H

#include "base/document/json.h"
#include "engine/core/engine.h"
#include "engine/plan/bill_split.h"
#include "executor/journal/machine_row.h"

// How the GPUs of nodes spent their time, in GPU microseconds (GPUs times time), by the rule that splits a bill
// (engine/plan/bill_split.h). A minimum billing time does not appear here: it concerns only money.
struct rb_node_time {
    int64_t train_us, boot_us, idle_barrier_us, lost_us, checkpoint_us;
};

int64_t rb_node_time_sum(const struct rb_node_time *t);
void rb_node_time_write(const struct rb_node_time *t, struct rb_json *j); // {"actual", "by": {"train", ...}}

struct rb_report_stage {
    int stage, trials, gpus_per_trial;
    int nodes;                              // owned during the stage, lost ones included
    int64_t resource_end, start_us, end_us; // -1: not yet
    int64_t cost_uusd;                      // bills split by the nodes' time; adds up to the total
};

struct rb_report_trial {
    int trial, restarts;
    const char *state;
    int parent;        // the trial that it copied, -1: none
    int64_t cloned_at; // the resource of the checkpoint that it began with; 0 without a parent
    int64_t resource;
    double metric; // last reported, NaN before the first; written as null
    const struct rb_value *suggested; // as the engine's trial has them, NULL: its configuration follows from the seed
    const char *origin, *because;     // of that; NULL: none
};

struct rb_report_node {
    int node;
    const char *id, *infra, *instance_type, *market, *state;
    int64_t requested_us, running_us, ready_us, terminated_us; // -1: not, or not yet
    int64_t pull_us; // between running and ready the image of its container was pulled for so long; 0: not, or not known
    int64_t cost_uusd;
    // Used only by executor/journal/history.h.
    int attempt, offer;
    struct rb_price_path prices; // of its market, by the times of this report; steps NULL: the plan's
    int64_t release_us, gone_us; // when its end was ordered; when it was seen to have ended. -1: not, or not yet
    struct rb_bill_parts by;     // adds up to cost_uusd
    struct rb_node_time time;    // from running until it ended; of a lent node, the time of the lent GPUs
};

struct rb_report {
    const char *run_id, *plan_sha256;
    const struct rb_plan *plan;
    int64_t started_unix_us;
    int best_trial; // -1: none
    double best_metric;
    const char *best_checkpoint; // NULL: none saved
    const char *best_remark;     // it failed after that: how far its checkpoint reaches; NULL: it did not
    int64_t time_us, cost_uusd;  // so far, or final; of the nodes
    int64_t attributed_uusd; // of that: spot machines of clouds that did not say what these cost, at the plan's price
    struct rb_bill_parts by; // of all nodes
    struct rb_machine_row machine; // that was made for its controller; its bill is beside that of the nodes
    int64_t machine_uusd;
    struct rb_node_time node_time;
    struct rb_report_stage *stages;
    int n_stages;
    struct rb_report_trial *trials;
    int n_trials;
    struct rb_report_node *nodes;
    int n_nodes;
    int64_t leak_checked_at_us; // -1: not checked
    int instances_left;         // -1: unknown (a listing was partial)
    struct rb_note *notes;
    int n_notes;
    enum rb_job_outcome outcome;
    enum rb_stop_reason reason; // of STOPPED
    // Some process executes the run; the caller fills this in, because the journal does not know.
    bool at_work;
    bool ended_at_deadline;     // COMPLETE: its policy works until the deadline, which has come
    bool paced_accelerator;     // the trials reported that their accelerator's speed is emulated
    // The sources of the report, for other views of the run (executor/journal/history.h).
    struct rb_journal_meta meta;
    const struct rb_task_row *tasks;
    int n_tasks, n_events;
    int64_t now_us; // of the last event; time_us stands still once the job is over
};

// Leaves at_work false.
bool rb_report_make(struct rb_journal *j, const struct rb_plan *plan, struct rb_arena *arena,
                    struct rb_report *out, struct rb_err *err);
void rb_report_write(const struct rb_report *r, struct rb_json *j);
// Makes and writes the report as a document of its own. at_work: some process executes the run. pretty: for files.
bool rb_report_json(struct rb_journal *j, const struct rb_plan *plan, bool at_work, bool pretty, struct rb_buf *out,
                    struct rb_err *err);

// "complete", "target", "incomplete", "stopped: deadline"; for a run that is not over "running", or "interrupted" if no
// process executes it.
const char *rb_report_outcome(enum rb_job_outcome outcome, enum rb_stop_reason reason, bool at_work,
                              char out[static 64]);

#endif
