// From counts to GPUs: which of a node's GPUs each job may use, once it is decided how many. What a job must give back is
// lent on only when nothing trains on it any more, so the counts are reached in several steps.
#ifndef RB_ENGINE_SHARING_LEND_H
#define RB_ENGINE_SHARING_LEND_H

#include <stdbool.h>
#include <stdint.h>

struct rb_lending {
    int want;        // GPUs of this node the job shall have
    uint64_t busy;   // bit mask: it trains there
    uint64_t usable; // it may use these; replaced by what it may use from now on
};

// One step for one node of `gpus` GPUs, [n_jobs]. Whoever has too many keeps those it trains on first; whoever has too few
// gets what nobody may use and nobody trains on, the lowest first. True: something has changed.
bool rb_lend(int gpus, struct rb_lending *jobs, int n_jobs);

#endif
