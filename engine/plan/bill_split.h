// Splits a node's bill by GPU time, exactly to the micro-dollar. The same rule splits the cost of a run
// (executor/report/report.h) and the expected cost of a plan (simulator/world/timeline.h).
#ifndef RB_ENGINE_BILL_SPLIT_H
#define RB_ENGINE_BILL_SPLIT_H

#include "base/document/json.h"
#include "profiles/catalog/billing.h"

// The parts add up to the bill exactly. Time from running to ready is boot (with the data the node read). GPUs that
// trained count as train; while they saved checkpoints, as checkpoint; in starts whose work was lost, as lost. The rest,
// and a machine's tail, is idle_barrier. An amount due only to the 60 s minimum is minimum.
struct rb_bill_parts {
    int64_t train_uusd, boot_uusd, idle_barrier_uusd, minimum_uusd, lost_uusd, checkpoint_uusd;
};

void rb_bill_parts_write(const struct rb_bill_parts *p, struct rb_json *j); // {"train", "boot", ...}

struct rb_node_life {
    int gpus;
    int64_t running_us, ready_us, ended_us; // running_us, ready_us -1: never
};

// One start of a trial on the node: it trains until saving_us and saves its checkpoint until to_us.
struct rb_gpu_spell {
    uint64_t gpus; // bit mask; trials that share a GPU do not pay for it twice
    int64_t from_us, saving_us, to_us;
    bool lost; // all of its work was lost
};

// Adds a node's bill to by[n_windows], by the node's time in each. cuts_us [n_windows - 1]: where one window ends and
// the next begins, ascending; the first begins and the last ends with the node. Data counts where the node began to
// run, the minimum and the tail where it ended. spells [n_spells]: all of this node; sorted in place by start.
void rb_bill_split(const struct rb_bill *bill, const struct rb_node_life *life, struct rb_gpu_spell *spells, int n_spells,
                   const int64_t *cuts_us, int n_windows, struct rb_bill_parts *by);

// Largest remainder method (Hamilton): parts in proportion to the weights (>= 0), ties by index; they sum to
// `total`. All weights 0: everything goes to `fallback`. n: at most six for each of RB_LIMIT_STAGES.
void rb_apportion(int64_t total, const int64_t *weights, int n, int fallback, int64_t *out_parts);

#endif
