// What a search has seen so far, in the order in which it happened: trials with their configurations, and their
// results. Trials are compared at levels only, the ends of the scheduler's rungs: the first report at or beyond a
// level is the result there. Filled by samplers/search.c.
#ifndef RB_SAMPLERS_HISTORY_H
#define RB_SAMPLERS_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum rb_seen_state { RB_SEEN_TRAINS, RB_SEEN_PAUSED, RB_SEEN_ENDED, RB_SEEN_FAILED };

// A trial's score at a level: higher is better. One that diverged or failed has -INFINITY at the level to which it
// trained.
struct rb_seen_result {
    int place;                  // of its trial in `trials`
    int level;
    double score;
    int before;                 // the trial's result at a lower level, -1: none
};

struct rb_seen_trial {
    int trial;                  // its number
    double *u;                  // [n_coordinates], NAN where a parameter does not apply
    enum rb_seen_state state;
    int next_level;             // while it trains: where it is compared next
    int last_result;            // the one at its highest level, -1: none
    int64_t resource;           // of its last report
    double unit_s;              // mean seconds a unit, NAN: unknown
};

// A result of an earlier run with the same space. Scores of two runs cannot be compared, ranks can.
struct rb_recalled_result {
    double *u;                  // [n_coordinates]
    int level;
    double quantile;            // (rank - 1/2) / n at that level of its run; 1: best
    double weight;              // in (0, 1], of this run's results: 1
    double unit_s;              // NAN: unknown
};

struct rb_history {
    int n_coordinates;
    const int64_t *levels;      // ascending, [n_levels]
    int n_levels;
    struct rb_seen_trial *trials; // in the order in which they began, [n_trials]
    int n_trials, trials_cap;
    int largest;                // of the trials' numbers, -1: none
    struct rb_seen_result *results; // [n_results]
    int n_results, results_cap;
    struct rb_recalled_result *recalled; // best first, [n_recalled]
    int n_recalled;
};

// levels is borrowed.
void rb_history_init(struct rb_history *h, int n_coordinates, const int64_t *levels, int n_levels);
void rb_history_finish(struct rb_history *h);

int rb_history_level_of(const struct rb_history *h, int64_t resource); // the first at or beyond it, at most the last
int rb_history_place_of(const struct rb_history *h, int trial);        // -1: unknown
// u is copied. A trial that began before is left as it is; the place is returned.
int rb_history_begin(struct rb_history *h, int trial, const double *u, int64_t next_resource);
void rb_history_report(struct rb_history *h, int place, int64_t resource, double score);
void rb_history_change(struct rb_history *h, int place, enum rb_seen_state state, int64_t next_resource);

// The trial's result at exactly this level, -1: none.
int rb_history_result_at(const struct rb_history *h, int place, int level);
// Trials with results at this level.
int rb_history_count_at(const struct rb_history *h, int level);
// The highest level with at least `least` results; if there is none, the lowest with any, -1: none.
int rb_history_compared_level(const struct rb_history *h, int least);
// Trials with a result.
int rb_history_count_compared(const struct rb_history *h);

// Trials at `level`, best first: score descending, then by number. out [n_trials]; returns how many.
int rb_history_best(const struct rb_history *h, int level, int *out_places);

#endif
