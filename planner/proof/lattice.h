// The space of the exact search: every choice of every stage, and for each number of nodes it may find kept a lower bound
// of its time and cost that becomes exact when the stage-time object is made. Objects are dear, so they are made only
// where the search asks, and a few replicates raise the bound first: more kept nodes never make a stage later, so one
// object bounds all entries below it.
#ifndef RB_PLANNER_LATTICE_H
#define RB_PLANNER_LATTICE_H

#include "planner/request/controls.h"
#include "planner/scores/score.h"

// What is weighed against cost. TILT_i: -ln E exp(-theta_i T) / theta_i, which adds up over independent stages and is
// bounded for every plan that keeps a deadline with a probability; CAUTIOUS: mean and a share of the variance.
// LIKELY: CAUTIOUS of what a few replicates say on average, with costs to match: no bound, but where good plans are.
enum rb_delay {
    RB_DELAY_CAUTIOUS,
    RB_DELAY_TILT,
    RB_N_DELAYS = RB_DELAY_TILT + RB_N_TILTS,
    RB_DELAY_LIKELY = RB_N_DELAYS
};

struct rb_lattice_entry {
    struct rb_choice choice;
    int count; // choice.nodes is the count-th of its offer's node counts
    // [count + 2], by kept index: 0 for none, i + 1 for the offer's i-th count
    double *cost_uusd, *mean_s, *delay_s[RB_N_DELAYS];
    double *likely_uusd, *likely_mean_s, *likely_s; // the same without the replicates' standard errors; nowhere below the bounds
    const struct rb_stage_time **time; // NULL: the values are lower bounds
    const struct rb_law **soonest;     // NULL, or a law that is made and is nowhere later: of more nodes
    int *sampled;                      // 0, or the number of the replicates that raised it: rb_lattice_tighten
};

struct rb_lattice_stage {
    struct rb_lattice_entry *entries; // in order of offer, nodes, gpus: [first[offer], first[offer + 1])
    int n, *first;
};

struct rb_lattice {
    struct rb_search *search;
    double accuracy;              // of stage times
    int n_stages;
    struct rb_lattice_stage stages[RB_LIMIT_STAGES];
    struct rb_lattice_counts {    // [n_offers]
        int n, *nodes;            // ascending; the same for all stages
    } *counts;
    int most_counts;              // of any offer
    struct rb_node_bill *bills;   // [n_offers]
    struct rb_floors *floors;
    double theta[RB_N_TILTS];     // 1/s
    double normal_quantile;       // of the confidence asked, in standard deviations
    double caution;               // of CAUTIOUS: seconds per square second of variance
    bool thinned;                 // not every node count is in the space
    int n_outbid;                 // offers that a cheaper one stands for
    int64_t n_made, n_sampled;    // stage-time objects asked for; of these from pilot samples
    int64_t most_sampled;         // no more than so many are sampled
    int64_t n_tightened;          // bounds raised by replicates
    struct rb_common_draws *draws;
    struct rb_controls *controls; // [n_stages], from the objects made
    struct rb_lattice_replicates {
        const float *seconds;     // NULL: not on common draws
        int n_controls;           // how many were there when they last raised a bound
    } *replicates;                // [n_replicates], by number; 0 is none
    int n_replicates;
    int64_t n_changes[RB_LIMIT_STAGES];  // of a stage's values so far
    double worst_error[RB_LIMIT_STAGES]; // largest error in P among the objects made
    struct rb_law envelopes[RB_LIMIT_STAGES]; // n = 0: not made yet
    struct rb_arena arena;
    int *kept;                    // scratch [most_counts + 2]
    struct rb_times *times;
    double *roughly_s;
};

static inline const double *rb_lattice_costs(const struct rb_lattice_entry *e, enum rb_delay delay)
{
    return delay == RB_DELAY_LIKELY ? e->likely_uusd : e->cost_uusd;
}

static inline const double *rb_lattice_delays(const struct rb_lattice_entry *e, enum rb_delay delay)
{
    return delay == RB_DELAY_LIKELY ? e->likely_s : e->delay_s[delay];
}

bool rb_lattice_init(struct rb_lattice *l, struct rb_search *search, double accuracy, struct rb_err *err);
void rb_lattice_finish(struct rb_lattice *l);

// One entry a stage.
struct rb_lattice_path {
    int entry[RB_LIMIT_STAGES];
};

// Kept index of an entry after another of the stage before (NULL: stage 0).
int rb_lattice_kept(const struct rb_lattice_entry *before, const struct rb_lattice_entry *entry);
// Raises an entry's bound to what a few replicates of the stage say, less five standard errors: a hundredth of the work
// of the exact value, and it fails once in three million. *out_tighter false: exact, sampled before, or cheaply made exact.
bool rb_lattice_tighten(struct rb_lattice *l, int stage, struct rb_lattice_entry *entry, int kept, bool *out_tighter,
                        struct rb_err *err);
// The replicates that raised a bound, [RB_COMMON_REPLICATES]; NULL: there are none, or not on common draws.
const float *rb_lattice_replicates(const struct rb_lattice *l, const struct rb_lattice_entry *entry, int kept);
// Seconds of n replicates that are drawn for this entry alone.
bool rb_lattice_sample(const struct rb_lattice *l, int stage, const struct rb_lattice_entry *entry, int kept, int n,
                       double *out_s, struct rb_err *err);
// Trials on several nodes that wait for new ones: their law is dear, or there is none.
bool rb_lattice_waits_for_gangs(const struct rb_lattice *l, int stage, const struct rb_lattice_entry *entry, int kept);
// Makes the values of an entry exact for one kept index. Sampled times are dear: beyond most_sampled they stay bounds
// (time NULL), and prices of time avoid them.
bool rb_lattice_make(struct rb_lattice *l, int stage, struct rb_lattice_entry *entry, int kept, struct rb_err *err);
int rb_lattice_kept_nodes(const struct rb_lattice *l, const struct rb_lattice_entry *entry, int kept);
// A law that an entry's time is nowhere below: of more nodes, or of any number kept.
const struct rb_law *rb_lattice_floor(struct rb_lattice *l, int stage, const struct rb_lattice_entry *entry, int kept,
                                      struct rb_err *err);
struct rb_candidate rb_lattice_candidate(const struct rb_lattice *l, const struct rb_lattice_path *path);
// The path of a candidate; false: a choice of it is not in the space.
bool rb_lattice_find(const struct rb_lattice *l, const struct rb_candidate *candidate, struct rb_lattice_path *out);

// The law of a stage that no choice of it can beat at any time: the pointwise largest distribution function. NULL on error.
const struct rb_law *rb_lattice_envelope(struct rb_lattice *l, int stage, struct rb_err *err);

#endif
