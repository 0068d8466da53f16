// The policy goodput divides a cluster so that the jobs' values add up to the most. Every round each job gets one of a few
// sizes; a job moves only where the gain pays for its restart. docs/MODEL.md, "Sharing a cluster".
#ifndef RB_ENGINE_SHARING_GOODPUT_H
#define RB_ENGINE_SHARING_GOODPUT_H

#include "engine/sharing/sharing.h"

// The rules as numbers, for studies. The defaults were chosen on four traces and their relatives: bench/results/many-jobs.md,
// "How the rules were chosen".
struct rb_goodput_rules {
    double fairness_p;    // where the options do not set it: u(x) = x^p / p, log x where p = 0
    double least;         // added to a speed-up: keeps a job without GPUs finite
    double rank_power;    // weight = ((rank + offset) / (jobs + offset))^power, rank 1: most work left
    double rank_offset;   // in jobs; so that the order means little among few, all large
    double declared;      // 1: work left is what a job declared; 0: what it attained, as if no job had declared it
    double restart_count; // a change is worth (T - count * R * delay) / (T + cost * delay) of its speed-up, T: age
    double restart_cost;
    double urgency;       // the largest factor of a weight due to a deadline
};

void rb_goodput_rules_defaults(struct rb_goodput_rules *rules);
bool rb_goodput_create(const struct rb_sharing_options *options, const struct rb_goodput_rules *rules, void **out_state,
                       struct rb_err *err);

#endif
