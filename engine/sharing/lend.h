// Decides which of a node's GPUs each job may use, once their numbers are decided. A GPU that a job must release is
// lent to another only when nothing trains on it, so the numbers are reached in several steps.
#ifndef RB_ENGINE_SHARING_LEND_H
#define RB_ENGINE_SHARING_LEND_H

#include <stdbool.h>
#include <stdint.h>

struct rb_lending {
    int want;        // GPUs of this node that the job should have
    uint64_t busy;   // bit mask: it trains there
    uint64_t usable; // it may use these; replaced by the GPUs it may use from now on
};

// One step for one node of `gpus` GPUs, [n_jobs]. A job that has too many keeps those on which it trains first. A job
// that has too few gets GPUs that no job may use or trains on, the lowest first. True: something has changed.
bool rb_lend(int gpus, struct rb_lending *jobs, int n_jobs);

#endif
