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

// One entry a stage, by index into its options.
struct rb_path {
    int entry[RB_LIMIT_STAGES];
};

struct rb_options {
    struct rb_search *search;
    struct rb_stage_samples *samples; // n_samples replicates of every entry
    int n_samples;                    // fewer than the request's where the space is large: a pilot
    bool is_pilot;                    // then not every number of inherited nodes is simulated, some are interpolated
    struct rb_stage_samples *check, *all; // more replicates than a pilot's, and all, for the few plans it likes; NULL: no need,
                                      // of the former also where the pilot has as many
    int need;                         // of n_samples must keep the constraints; cautious when they are a pilot
    int n_stages;
    struct rb_stage_options stages[RB_LIMIT_STAGES];
    bool thinned;                     // node counts were thinned out: the space is not complete
    double to_beat;                   // objective of a feasible plan that was known before; INFINITY: none. Choices that no better
                                      // plan has are left out
    bool cut;                         // the time was up before they were complete: only good to be finished
    bool found;                       // ... was found on the way:
    struct rb_candidate plan;
};

// Lists all entries and drops those that another size on the same nodes beats in every replicate.
bool rb_options_init(struct rb_options *o, struct rb_search *search, struct rb_err *err);
void rb_options_finish(struct rb_options *o);
// Is there no time for so many runs of a stage? Then o->cut.
bool rb_options_out_of_time(struct rb_options *o, int n_runs);

// What a plan must reach on n of all replicates to be feasible on all of them but for bad luck.
double rb_cautious_confidence(double confidence, int n, int n_all);

// Sample of an entry that follows `before` (NULL: first stage).
const struct rb_stage_sample *rb_option_sample(const struct rb_option_entry *before,
                                               const struct rb_option_entry *entry);
struct rb_candidate rb_options_candidate(const struct rb_options *o, const struct rb_path *path);

#endif
