#include "engine/sharing/lend.h"

#include "engine/core/placement.h"

static int count(uint64_t mask)
{
    return __builtin_popcountll(mask);
}

static uint64_t keep(const struct rb_lending *l)
{
    const uint64_t at_work = rb_lowest_gpus(l->usable & l->busy, l->want);
    return at_work | rb_lowest_gpus(l->usable & ~l->busy, l->want - count(at_work));
}

bool rb_lend(int gpus, struct rb_lending *jobs, int n_jobs)
{
    bool changed = false;
    for (int i = 0; i < n_jobs; i++) {
        if (count(jobs[i].usable) > jobs[i].want) {
            jobs[i].usable = keep(&jobs[i]);
            changed = true;
        }
    }
    for (int i = 0; i < n_jobs; i++) {
        // GPUs that it was asked to release and on which it still trains are as good as free for itself.
        uint64_t others = 0;
        for (int k = 0; k < n_jobs; k++)
            others |= k == i ? 0 : jobs[k].usable | jobs[k].busy;
        const int missing = jobs[i].want - count(jobs[i].usable);
        const uint64_t got = missing > 0 ? rb_lowest_gpus(rb_gpu_mask(gpus) & ~jobs[i].usable & ~others, missing) : 0;
        jobs[i].usable |= got;
        changed = changed || got;
    }
    return changed;
}
