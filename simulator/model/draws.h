// The draws of one replicate, keyed by purpose, stage, index, attempt and replicate. Both the virtual world and the
// Monte Carlo evaluator draw here and only here, so the same key gives the same microsecond in both.
#ifndef RB_SIMULATOR_DRAWS_H
#define RB_SIMULATOR_DRAWS_H

#include "simulator/model/scenario.h"

// No draw is longer, whatever the distribution: beyond 30 years a plan is wrong, not slow. Sums of draws stay in int64_t.
#define RB_SIM_LONGEST_US (1000000000 * RB_US_PER_S)
// Attempts of one request or one trial; the width of the key.
#define RB_SIM_ATTEMPTS 65536

// Means that were measured may be off. Latencies that carry a relative_error (start-up, checkpoint, queueing, initialisation) are
// multiplied by one factor per replicate, the same for all stages, trials and nodes.

// Node request: key (stage of the request, ordinal, attempt).
int64_t rb_draw_queue_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt, uint32_t replicate);
int64_t rb_draw_init_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt, uint32_t replicate);
bool rb_draw_refused(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt, uint32_t replicate);
// From running to preemption; INT64_MAX: never.
int64_t rb_draw_preemption_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                              uint32_t replicate);
// The unit time that holds in this replicate: unit_s (from rb_scenario_unit_s) times how far the measured mean may be from
// the true one (training.relative_error). One draw per replicate and GPU count, for all stages and trials alike.
// A guess is wrong in the same way on any number of GPUs: which error a layout has.
int rb_draw_layout(const struct rb_scenario *s, int gpus_per_trial);
double rb_draw_unit_s(const struct rb_scenario *s, int offer, int gpus_per_trial, double unit_s, uint32_t replicate);
// Which entry of the profile's provisioning an offer goes by: offers of one entry are off by the same.
int rb_draw_provisioning_entry(const struct rb_scenario *s, int offer);
// What becomes of a request, all of the above together: refused attempts are made again at once.
struct rb_arrival {
    int64_t running_us;      // after the request
    int64_t ready_us;        // after that request, too
    int64_t lost_us;         // likewise; INT64_MAX: never
    int attempt;             // the one that was granted; -1: refused again and again
};
struct rb_arrival rb_draw_arrival(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                                  uint32_t replicate);
// Duration of position k in a stage: startup + sum of units + checkpoint, rounded once to the microsecond.
// unit_s from rb_draw_unit_s.
int64_t rb_draw_trial_us(const struct rb_scenario *s, int stage, int position, int attempt, uint32_t replicate,
                         int64_t units, double unit_s);

// The same duration in two steps: what a trial draws does not depend on the plan, only unit_s does.
struct rb_trial_noise {
    double fixed_s;          // startup and checkpoint
    double units_drawn;      // between x sum of within
};
struct rb_trial_noise rb_draw_trial_noise(const struct rb_scenario *s, int stage, int position, int attempt,
                                          uint32_t replicate, int64_t units);
int64_t rb_trial_noise_us(const struct rb_trial_noise *noise, double unit_s);

// What a first attempt draws, for many plans that train it: `within` as far as any has come.
struct rb_drawn_trial {
    double startup_s, between, checkpoint_s;
    struct rb_stream stream;
    double *units_drawn;     // sum of `within` after each unit, [cap]
    int64_t cap, n_drawn;
};
// units_drawn [cap] is the caller's.
void rb_drawn_trial_init(struct rb_drawn_trial *d, const struct rb_scenario *s, int stage, int position,
                         uint32_t replicate, double *units_drawn, int64_t cap);

// The same duration unit by unit: when each ends. After `units` calls of next, end is rb_draw_trial_us.
struct rb_trial_progress {
    const struct rb_dist *within;
    struct rb_drawn_trial *drawn; // NULL: it draws by itself
    struct rb_stream stream;
    double startup_s, between, checkpoint_s;
    double unit_s;
    double units_drawn;      // sum of `within` so far
    int64_t n_units;
};
void rb_trial_progress_begin(struct rb_trial_progress *p, const struct rb_scenario *s, int stage, int position,
                             int attempt, uint32_t replicate, double unit_s);
// Of a first attempt, at most drawn->cap units; the same to the bit.
void rb_trial_progress_follow(struct rb_trial_progress *p, const struct rb_scenario *s, struct rb_drawn_trial *drawn,
                              double unit_s);
int64_t rb_trial_progress_next_us(struct rb_trial_progress *p);      // end of the next unit, since the start
int64_t rb_trial_progress_end_us(const struct rb_trial_progress *p); // checkpoint written, since the start
int64_t rb_trial_progress_checkpoint_us(const struct rb_trial_progress *p); // how long writing it takes

#endif
