// Places jobs as Optimus and Tiresias do. A job that keeps its number of GPUs keeps its nodes; the others take theirs from the
// freest node first, which spreads a job over the fewest nodes while some are whole.
#ifndef RB_ENGINE_SHARING_PLACE_H
#define RB_ENGINE_SHARING_PLACE_H

#include "engine/sharing/sharing.h"

// Free GPUs while a division is made.
struct rb_free_gpus {
    int n_nodes;
    int *gpus; // of each node
    int total;
};

void rb_free_gpus_init(struct rb_free_gpus *f, const struct rb_shared_cluster *cluster); // every GPU is free
void rb_free_gpus_finish(struct rb_free_gpus *f);

int rb_held_gpus(const struct rb_shared_job *job, int n_nodes);
// The job stays where it is: row = what it holds.
void rb_free_gpus_keep(struct rb_free_gpus *f, const struct rb_shared_job *job, int *row);
// Takes `n` GPUs from the node with the most free GPUs, ties by index, then from the next; n <= total.
void rb_free_gpus_take(struct rb_free_gpus *f, int n, int *row);

#endif
