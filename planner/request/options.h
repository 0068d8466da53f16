// The choices open to each stage, with their sampled times and costs: the space the optimal planner searches.
#ifndef RB_PLANNER_OPTIONS_H
#define RB_PLANNER_OPTIONS_H

#include "planner/scores/stage_samples.h"

struct rb_option_entry {
    struct rb_choice choice;
    const struct rb_stage_sample **by_kept; // [choice.nodes + 1], by nodes inherited; only [0] in stage 0
};

struct rb_stage_options {
    struct rb_option_entry *entries; // canonical order: offer, nodes, gpus
    int n;
};

// One entry per stage, as an index into its options.
struct rb_path {
    int entry[RB_LIMIT_STAGES];
};

struct rb_options {
    struct rb_search *search;
    struct rb_stage_samples *samples; // n_samples replicates of every entry
    int n_samples;                    // fewer than the request's if the space is large: a pilot
    bool is_pilot;                    // then some numbers of inherited nodes are interpolated instead of simulated
    struct rb_stage_samples *check, *all; // more replicates than the pilot's, and all of them, for the few
                                          // promising plans; NULL: no need, of `check` also if the
                                          // pilot has as many
    int need;                         // of n_samples must keep the constraints; conservative for a pilot
    int n_stages;
    struct rb_stage_options stages[RB_LIMIT_STAGES];
    bool thinned;                     // node counts were thinned out: the space is not complete
    double to_beat;                   // objective of a feasible plan known before; INFINITY: none. Choices that no
                                      // better plan has are left out
    bool cut;                         // the time was up before they were complete: only good to be finished
    bool found;                       // a plan was found on the way:
    struct rb_candidate plan;
};

// Lists all entries and drops those that another size on the same nodes beats in every replicate.
bool rb_options_init(struct rb_options *o, struct rb_search *search, struct rb_err *err);
void rb_options_finish(struct rb_options *o);
// True, with o->cut set, if there is no time for this many runs of a stage.
bool rb_options_out_of_time(struct rb_options *o, int n_runs);

// Value a plan must reach on n of all replicates to be feasible on all of them, barring bad luck.
double rb_cautious_confidence(double confidence, int n, int n_all);

// Sample of an entry that follows `before` (NULL: first stage).
const struct rb_stage_sample *rb_option_sample(const struct rb_option_entry *before,
                                               const struct rb_option_entry *entry);
struct rb_candidate rb_options_candidate(const struct rb_options *o, const struct rb_path *path);

#endif
