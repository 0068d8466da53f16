// Varies divisions by the operators of Pollux's genetic search (OSDI'21 artifact): crossover over jobs, three
// mutations, and the repair that turns any matrix into a division which the cluster can execute.
#ifndef RB_ENGINE_SHARING_POLLUX_VARY_H
#define RB_ENGINE_SHARING_POLLUX_VARY_H

#include "engine/sharing/pollux_search.h"

// Swaps the rows above a random point.
void rb_pollux_crossover(const struct rb_pollux_problem *p, struct rb_stream *draws, uint64_t *a, uint64_t *b);

// Rows go back to what the job holds now, lose elements, and grow on nodes that have GPUs free. `left`: a row of scratch.
void rb_pollux_mutate(const struct rb_pollux_problem *p, struct rb_stream *draws, uint64_t *rows, uint64_t *left);

// Afterwards: no node is over capacity or (avoid_interference) shared by two jobs that span nodes, every job has 0 or
// min_gpus..max_gpus on at most RB_POLLUX_MAX_NODES nodes. Conflicts go to the earlier row. `scratch`: two rows.
void rb_pollux_repair(const struct rb_pollux_problem *p, struct rb_stream *draws, uint64_t *rows, uint64_t *scratch);

// 0..n-1; off by less than n / 2^32, far below what a search could notice.
static inline int rb_pollux_below(struct rb_stream *draws, int n)
{
    return (int)((uint64_t)rb_stream_u32(draws) * (uint64_t)n >> 32);
}

#endif
