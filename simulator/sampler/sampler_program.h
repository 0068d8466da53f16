// A plan compiled for sampling, and the kernel that runs eight replicates of it at once. Everything that does not
// depend on draws is decided here: the stages in which each node is owned, and the table of each latency.
//   sampler.c            plan to program; threads
//   sampler_table.c      quantile tables
//   sampler_block.h      the kernel, in terms of eight lanes; compiled twice:
//   sampler_scalar.c     lanes are arrays
//   sampler_avx2.c       lanes are AVX2 vectors
//   sampler_lanes.h      draws of eight lanes; sampler_lanes_plain.h and sampler_lanes_avx2.h: operations on them
//   sampler_sort.h       sorting lanes
#ifndef RB_SIMULATOR_SAMPLER_PROGRAM_H
#define RB_SIMULATOR_SAMPLER_PROGRAM_H

#include "simulator/sampler/sampler.h"
#include "simulator/sampler/sampler_tables.h"

#define RB_SAMPLER_LANES 8 // replicates of a block

// A factor that all draws of a latency share in a replicate, because its mean was measured with an error. Each has its
// own stream, so that every stage and every plan draws the same factor.
struct rb_sampler_error {
    const struct rb_sampler_table *table; // NULL: the factor is 1
    uint32_t stream;
};

// Nodes requested at the start of one stage from one offer.
struct rb_sampler_request {
    int first, n; // numbers
    const struct rb_sampler_table *queue, *init;
    struct rb_sampler_error queue_error, init_error, reading_error;
    const struct rb_sampler_table *reading; // of the job's data, which each one reads before it is ready, times
    float reading_scale;                    // this; NULL:
    float data_s;                           // this long
    uint32_t refused; // of 2^31 requests; 0: none
};

// Nodes of one request that end together.
struct rb_sampler_span {
    int first, n;
    int offer;
    int from, to; // stages: requested when `from` starts, ended when `to` starts, or at the end
    double usd_per_s, usd_per_node;
};

struct rb_sampler_stage {
    struct rb_trial_tables trial;
    struct rb_sampler_error measurement, startup_error, checkpoint_error; // of a trial in parts
    uint32_t configurations; // the stream of its bracket's trials' factors: each stage draws them from the first one on
    int n_trials;
    int n_kept, n_new, first_new;       // nodes; the number of the first new one
    int slots_per_node, nodes_per_slot; // one of them is 1
    float early_at_s; // when the new nodes are requested, since the start of the previous stage; INFINITY: at this
                      // one's
    int n_slots;                        // at most the number of trials
    int first_request, n_requests;
    int end_of_spans; // spans of nodes that end when this stage starts, or earlier, are before this one
};

struct rb_sampler_program {
    uint64_t seed;
    enum rb_waves waves;
    bool wait_for_all, by_stage;
    int first_stage; // by_stage: the number of stage 0 of this program
    struct rb_sampler_stage stages[RB_LIMIT_STAGES];
    int n_stages;
    struct rb_sampler_request *requests; // in order of stage
    int n_requests;
    struct rb_sampler_span *spans; // in order of `to`
    int n_spans;
    int n_nodes, max_slots;
};

// Memory of one thread: [max_slots], [n_nodes], [n_nodes], [n_nodes] and [n_stages + 1] blocks of lanes.
struct rb_sampler_scratch {
    float *free_s;           // when each slot is free, since the stage's start
    float *running_s;        // of each node, since its request
    float *ready_s;          // since the start of the current stage
    float *openings_s;       // of nodes, sorted
    double *stage_start_s;   // [n_stages + 1]
};

// Replicates 8 * block .. 8 * block + 7, the first of them at [0].
typedef void rb_sampler_block_fn(const struct rb_sampler_program *p, const struct rb_sampler_scratch *scratch,
                                 uint32_t block, const struct rb_sampler_runs *out);
rb_sampler_block_fn rb_sampler_block_scalar;
rb_sampler_block_fn rb_sampler_block_avx2; // only if they are built: RB_SAMPLER_HAS_AVX2

#endif
