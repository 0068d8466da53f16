// How the predictions of a job fared: of each run that came to its end, or to the end of a limit, what was said of it
// before it began and what happened.
#ifndef RB_PROFILES_ENDED_H
#define RB_PROFILES_ENDED_H

#include "profiles/store/store.h"

#define RB_ENDED_UNITS     200  // starts of trials whose units one run leaves; more hardly make a mean more exact
#define RB_ENDED_RUNS      20   // of a profile, whose units are kept, the newest
#define RB_ENDED_DELAYS    200  // of nodes, that one run leaves
#define RB_ENDED_PROVISION 2000 // of nodes, that all runs leave, the newest

struct rb_ended_figure {
    int64_t p5, p50, p95, was; // predicted, and happened
};

struct rb_ended_promise {
    double p; // of keeping a limit; NAN: there was none, or nothing was said
    int kept; // 1: yes, 0: no, -1: unknown
};

struct rb_ended {
    const char *run, *profile, *job; // id, and names
    int64_t ended_at_us;             // unix
    bool is_complete;                // false: a limit ended it, so time and cost would have been more
    struct rb_ended_figure time_us, cost_uusd;
    struct rb_ended_promise on_time, in_budget;
};

// Does nothing if there is a row of this run: a resumed run has kept or broken its promises before.
bool rb_store_put_ended(struct rb_store *s, const struct rb_ended *ended, struct rb_err *err);
// Forgets what the run has measured, units and delays, so that it may leave them again when it has been resumed; then
// what the oldest runs of the profile left.
bool rb_store_forget_ended(struct rb_store *s, const char *run, const char *profile, struct rb_err *err);
// What the source of its delays is called: rb_store_stamp.
const char *rb_ended_source(const char *run, struct rb_arena *arena);

// How often, and how far off. Shares are n_x of n.
struct rb_record {
    int n_runs, n_complete;
    struct rb_record_figure {
        int n, n_within;      // intervals of some width whose runs were judged; within p5..p95
        int n_log;            // complete runs, of more than nothing
        double mean_log;      // of ln(happened / p50); NAN: n_log 0
    } time, cost;
    struct rb_record_promise {
        int n, n_kept;
        double promised;      // mean probability; NAN: n 0
    } on_time, in_budget;
};

// Of the runs planned with that profile. A store of an older program has none.
bool rb_store_record(struct rb_store *s, const char *profile, struct rb_record *out, struct rb_err *err);

#endif
