// rb-report/1: what a run did and cost, beside what was predicted, from the journal and the plan alone.
#ifndef RB_EXECUTOR_REPORT_H
#define RB_EXECUTOR_REPORT_H

#include "base/json.h"
#include "engine/plan.h"
#include "executor/journal.h"

struct rb_report_cost {   // where the money went; the parts add up to the total
    int64_t train_uusd, boot_uusd, idle_barrier_uusd, minimum_uusd, lost_uusd, checkpoint_uusd;
};

struct rb_report {
    const char *run_id;
    char plan_sha256[65];
    const struct rb_plan *plan;
    int best_trial;            // -1: none
    double best_metric;
    const char *best_params_json, *best_checkpoint;
    int64_t time_us, cost_uusd;
    struct rb_report_cost by;
    struct rb_report_stage { int stage, trials, gpus_per_trial, nodes; int64_t start_us, end_us, cost_uusd; } *stages;
    int n_stages;
    struct rb_report_trial { int trial; const char *state; int64_t resource; double metric; const char *params_json; int restarts; } *trials;
    int n_trials;
    struct rb_report_node { const char *id, *infra, *instance_type, *market; int64_t requested_us, ready_us, terminated_us, cost_uusd; } *nodes;
    int n_nodes;
    int64_t leak_checked_at_us; // -1: not checked
    int instances_left;         // -1: unknown (a listing was partial)
    struct rb_note *notes;
    int n_notes;
    const char *outcome;        // "complete", "target", "stopped: deadline", "running"
    bool paced_accelerator;     // the trials said that their accelerator's speed is emulated (RB_PACED)
};

bool rb_report_make(struct rb_journal *j, const struct rb_plan *plan, struct rb_arena *arena, struct rb_report *out,
                    struct rb_err *err);
void rb_report_write(const struct rb_report *r, struct rb_json *j);

#endif
