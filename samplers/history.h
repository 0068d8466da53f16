// What a search has seen so far, in the order in which it happened: trials with their configurations, and their reports.
// Appended to only by samplers/search.c.
#ifndef RB_SAMPLERS_HISTORY_H
#define RB_SAMPLERS_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum rb_seen_state { RB_SEEN_TRAINS, RB_SEEN_PAUSED, RB_SEEN_ENDED, RB_SEEN_FAILED };

// One result of a trial: its score (higher is better; -INFINITY: diverged) after `resource` units.
struct rb_seen_report {
    int place;                  // of its trial in `trials`
    int64_t resource;
    double score;
    int before;                 // the trial's report before this one, -1: none
};

struct rb_seen_trial {
    int trial;                  // its number; those of earlier runs are negative
    const double *u;            // [coordinates->n], NAN where a parameter does not apply
    enum rb_seen_state state;
    int64_t next_resource;      // while it trains: where it is compared next
    int last_report;            // index in `reports`, -1: none
    double unit_s;              // mean seconds a unit, NAN: unknown
    double weight;              // 1; less for a trial of an earlier run
};

struct rb_history {
    struct rb_seen_trial *trials; // in the order in which they began, [n_trials]
    int n_trials, trials_cap;
    struct rb_seen_report *reports; // [n_reports]
    int n_reports, reports_cap;
};

// The trial's score at exactly `resource`. false: it has not reported there.
bool rb_history_score_at(const struct rb_history *h, int place, int64_t resource, double *out_score);

#endif
