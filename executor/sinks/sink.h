// The interface of a sink: a place outside the run's directory that gets its results. A sink is a const table of functions
// over one plain stream of facts (executor/sinks/sink_feed.h).
//
// The opener of a sink plays it every fact from the first one on, each time it is opened. What it has already delivered the
// sink finds out from its own place (the bytes of a file, the rows of a database, the answers of a server), and does not
// deliver again. So a process that is killed at any instant, a server that was away and a cursor that was lost have one
// remedy: open the sink again.
#ifndef RB_EXECUTOR_SINK_H
#define RB_EXECUTOR_SINK_H

#include "executor/report/report.h"
#include "profiles/job/job.h"

enum rb_sink_state {
    RB_SINK_RUNNING,   // it trains, waits, or is paused and may go on
    RB_SINK_COMPLETED, // trained to the end; of a run: complete, or at its target
    RB_SINK_STOPPED,   // ended before that by the tuner, or with its run
    RB_SINK_FAILED,
};

struct rb_sink_run {
    const char *run_id, *plan_sha256;
    const struct rb_plan *plan;
    int64_t started_unix_us;
};

// Where a sink delivers. Paths are absolute.
struct rb_sink_target {
    const struct rb_sink_spec *spec;
    const char *path;       // file or directory; NULL: a server
    const char *uri;        // of a server, without a slash at its end; NULL: files
    const char *experiment; // of a server
};

struct rb_sink_trial {
    int trial;
    const struct rb_value *values; // of plan->job->space.params; borrowed until the sink is closed
    int64_t unix_us;               // of its first start
};

struct rb_sink_report {
    int trial;
    int64_t resource;
    double metric;   // plan->job->metric_name; any double
    int64_t unix_us; // never falls from one fact to the next
};

// What is delivered on flush, beyond the facts.
struct rb_sink_now {
    const struct rb_report *report; // as of the last fact, or later
    int gpus;                       // owned now
    double cost_p95_uusd, p_on_time; // NaN: unknown
};

// Any function but open may be NULL. On failure the sink is closed and later opened again.
struct rb_sink_ops {
    const char *name;
    bool foresees; // flush wants to know how the run will end, which takes some milliseconds
    bool (*open)(const struct rb_sink_run *run, const struct rb_sink_target *target, void **out, struct rb_err *err);
    bool (*trial_started)(void *sink, const struct rb_sink_trial *t, struct rb_err *err);
    bool (*reported)(void *sink, const struct rb_sink_report *r, struct rb_err *err);
    // RUNNING: it goes on after all, as with a run that was resumed.
    bool (*trial_ended)(void *sink, int trial, enum rb_sink_state state, int64_t unix_us, struct rb_err *err);
    bool (*run_ended)(void *sink, enum rb_sink_state state, int64_t unix_us, struct rb_err *err); // likewise
    // All that came before is delivered when it returns true.
    bool (*flush)(void *sink, const struct rb_sink_now *now, struct rb_err *err);
    void (*close)(void *sink); // frees it; what was not flushed is dropped
};

extern const struct rb_sink_ops rb_sink_mlflow, rb_sink_tensorboard, rb_sink_optuna, rb_sink_csv, rb_sink_prometheus;
const struct rb_sink_ops *rb_sink_find(enum rb_sink_kind kind);

#endif
