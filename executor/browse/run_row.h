// One run in a list of many: how it stands, what it cost beside what was expected, and whether it kept its deadline.
// Values only, from the run's journal and plan, or from the report of a run that someone shared.
#ifndef RB_EXECUTOR_RUN_ROW_H
#define RB_EXECUTOR_RUN_ROW_H

#include "executor/away/elsewhere.h"
#include "executor/report/report.h"

enum rb_run_promise { RB_RUN_PROMISE_NONE, RB_RUN_PROMISE_OPEN, RB_RUN_PROMISE_KEPT, RB_RUN_PROMISE_BROKEN };

// Times, money and counts are -1 and numbers NaN where they are unknown.
struct rb_run_row {
    const char *run;     // the name of its directory
    const char *from;    // the shared folder it was read from, as given; NULL: this machine's own runs
    const char *outcome; // as in rb-report/1, or "unreadable": then only `error` is known besides; or "elsewhere", with
                         // ", unconfirmed" where its host has not said that it began: then only `controller` is known
    const char *error;   // why it is unreadable; NULL: it is not
    bool is_damaged;     // unreadable because its journal is damaged
    const char *controller; // where its process lives (executor/away/whereabouts.h); NULL: it has none, or it is not known
    const char *job;
    int64_t started_at_us; // unix
    int64_t time_us, time_predicted_us;
    int64_t cost_uusd, cost_predicted_uusd;
    bool is_free;                    // nothing that it may use has a price
    bool is_lent;                    // a pool lends it GPUs, and has their bill
    int trials, trials_failed;
    const char *metric_name, *goal;  // goal: "maximize" or "minimize"
    int best_trial;                  // -1: none yet
    double best_metric;
    int64_t deadline_us, budget_uusd; // of the run, as resumes have raised them; -1: none
    double p_on_time;                // the plan's, for the deadline that the run has
    enum rb_run_promise on_time;     // is the deadline kept?
    const char *const *infras;       // of its nodes, without zones, each once; [n_infras]
    int n_infras;
};

// Strings are copied into the arena. at_work: some process executes the run.
void rb_run_row_of_report(const struct rb_report *report, bool at_work, struct rb_arena *arena, struct rb_run_row *out);
// From an rb-run-page/1 that someone else wrote: every value is checked, and an error names its place. run and from
// are left alone.
bool rb_run_row_read(const struct rb_node *document, struct rb_arena *arena, struct rb_run_row *out,
                     struct rb_err *err);
// A run that was started on another host, which alone knows what became of it.
struct rb_run_row rb_run_row_elsewhere(const struct rb_elsewhere *e, struct rb_arena *arena);
struct rb_run_row rb_run_row_unreadable(const char *run, const struct rb_err *why, struct rb_arena *arena);
void rb_run_row_copy(const struct rb_run_row *row, struct rb_arena *arena, struct rb_run_row *out);

void rb_run_row_write(const struct rb_run_row *row, struct rb_json *j); // an item of rb-runs/1

#endif
