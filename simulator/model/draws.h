// The draws of one replicate, keyed by purpose, stage, index, attempt and replicate. The virtual world and the Monte
// Carlo evaluator draw only here, so the same key gives the same microsecond in both.
#ifndef RB_SIMULATOR_DRAWS_H
#define RB_SIMULATOR_DRAWS_H

#include "simulator/model/scenario.h"

// Upper limit of a draw, whatever the distribution: beyond 30 years a plan is wrong, not slow. Sums of draws stay in
// int64_t.
#define RB_SIM_LONGEST_US (1000000000 * RB_US_PER_S)
// Attempts of one request or one trial; the width of the key.
#define RB_SIM_ATTEMPTS 65536

// Measured means have errors. Latencies that carry a relative_error (start-up, checkpoint, queueing, initialisation)
// are multiplied by one factor per replicate, the same for all stages, trials and nodes.

// Node request: key (stage of the request, ordinal, attempt).
int64_t rb_draw_queue_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt, uint32_t replicate);
int64_t rb_draw_init_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt, uint32_t replicate);
// The same, given that it takes longer than this; -1: the law excludes that. A reading of data that varies is drawn as
// it is, and the rest is longer.
int64_t rb_draw_queue_beyond_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                                uint32_t replicate, int64_t least_us);
int64_t rb_draw_init_beyond_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                               uint32_t replicate, int64_t least_us);
bool rb_draw_refused(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt, uint32_t replicate);
// From running to preemption; INT64_MAX: never.
int64_t rb_draw_preemption_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                              uint32_t replicate);
// On a market that takes nodes together, this is the first strike of the node's clock. With n nodes of the offer running, a
// strike counts with the chance 1 / (1 + (n - 1) together), and then takes all of them with the chance `together`, else
// its own node. So each node is lost at its hazard whatever n is, and this share of losses takes all.
enum rb_strike { RB_STRIKE_NONE, RB_STRIKE_ONE, RB_STRIKE_ALL };
enum rb_strike rb_draw_strike(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                              uint32_t replicate, int strike, int n_running);
// When the strike after this one comes, which came at at_us, to a node that has run since running_us; INT64_MAX: never.
int64_t rb_draw_next_strike_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                               uint32_t replicate, int strike, int64_t running_us, int64_t at_us);
// The unit time in this replicate: unit_s (from rb_scenario_unit_s) times the error factor of the measured mean
// (training.relative_error). One draw per replicate: what makes a training slower than measured (its data, its
// configurations) makes it slower in every layout. Errors that were independent would cancel out between stages.
double rb_draw_unit_s(const struct rb_scenario *s, int offer, double unit_s, uint32_t replicate);
// The index of an offer's provisioning entry in the profile: offers of one entry share their error.
int rb_draw_provisioning_entry(const struct rb_scenario *s, int offer);
// The outcome of a request, combining all of the above; refused attempts are repeated at once.
struct rb_arrival {
    int64_t running_us;      // after the request
    int64_t ready_us;        // after that request, too
    int64_t lost_us;         // likewise; INT64_MAX: never
    int attempt;             // the attempt that was granted; -1: all were refused
};
struct rb_arrival rb_draw_arrival(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                                  uint32_t replicate);
// How much slower the trial's configuration trains than the mean one, in all its stages (noise.configuration).
double rb_draw_configuration(const struct rb_scenario *s, int trial, uint32_t replicate);
// Duration of position k in a stage: startup + sum of units + checkpoint, rounded once to the microsecond.
// unit_s from rb_draw_unit_s.
int64_t rb_draw_trial_us(const struct rb_scenario *s, int stage, int position, int attempt, uint32_t replicate,
                         int64_t units, double unit_s);

// The same duration in two steps: a trial's draws do not depend on the plan, only unit_s does.
struct rb_trial_noise {
    double fixed_s;          // startup and checkpoint
    double units_drawn;      // configuration x between x sum of within
};
struct rb_trial_noise rb_draw_trial_noise(const struct rb_scenario *s, int stage, int position, int attempt,
                                          uint32_t replicate, int64_t units);
int64_t rb_trial_noise_us(const struct rb_trial_noise *noise, double unit_s);

// Of a start that saves in the middle of its stage: after the first unit at whose end it has trained for every_s since it began
// to train or saved last, but not after its last unit. A save takes as long as the start's checkpoint, and is safe at its end.
// *out_safe: units that are safe by by_us after the start.
int64_t rb_draw_saving_trial_us(const struct rb_scenario *s, int stage, int position, int attempt, uint32_t replicate,
                                int64_t units, double unit_s, double every_s, int64_t by_us, int64_t *out_safe);

// The draws of a first attempt, for many plans that train it: `within` for as many units as any plan has reached.
struct rb_drawn_trial {
    double startup_s, between, checkpoint_s;
    struct rb_stream stream;
    double *units_drawn;     // sum of `within` after each unit, [cap]
    int64_t cap, n_drawn;
};
// units_drawn [cap] belongs to the caller.
void rb_drawn_trial_init(struct rb_drawn_trial *d, const struct rb_scenario *s, int stage, int position,
                         uint32_t replicate, double *units_drawn, int64_t cap);

// The same duration unit by unit, with the end of each. After `units` calls of next, end is rb_draw_trial_us, if
// the caller has multiplied `between` by the configuration's factor.
struct rb_trial_progress {
    const struct rb_dist *within;
    struct rb_drawn_trial *drawn; // NULL: it draws its own numbers
    struct rb_stream stream;
    double startup_s, between, checkpoint_s;
    double unit_s;
    double units_drawn;      // sum of `within` so far
    int64_t n_units;
    double every_s;          // it saves this often; 0: not. Set after begin or follow
    double saves_s;          // seconds of its saves so far
    double trained_s;        // seconds of training until the last of them
};
void rb_trial_progress_begin(struct rb_trial_progress *p, const struct rb_scenario *s, int stage, int position,
                             int attempt, uint32_t replicate, double unit_s);
// For a first attempt, at most drawn->cap units; the same to the bit.
void rb_trial_progress_follow(struct rb_trial_progress *p, const struct rb_scenario *s, struct rb_drawn_trial *drawn,
                              double unit_s);
int64_t rb_trial_progress_next_us(struct rb_trial_progress *p);      // end of the next unit, since the start
// Is a save due after the unit that has just ended? *out_us: its end, since the start.
bool rb_trial_progress_save(struct rb_trial_progress *p, int64_t *out_us);
int64_t rb_trial_progress_end_us(const struct rb_trial_progress *p); // checkpoint written, since the start
int64_t rb_trial_progress_checkpoint_us(const struct rb_trial_progress *p); // how long writing it takes

#endif
