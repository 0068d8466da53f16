// Divides the GPUs of a pool between the runs that borrow its nodes, by a policy of engine/sharing: at every arrival
// and end, whenever a node comes or goes, and at regular intervals. It takes GPUs back before it lends them again. Each
// borrower's journal records what was lent; the arbiter itself keeps nothing on disk.
#ifndef RB_EXECUTOR_ARBITER_H
#define RB_EXECUTOR_ARBITER_H

#include "engine/sharing/sharing.h"
#include "executor/pool/lender.h"
#include "executor/pool/lent_use.h"

struct rb_arbiter_config {
    const struct rb_loop *loop;
    const struct rb_sharing *policy;
    struct rb_sharing_options options; // round_us: the interval
};

// One borrower. The struct is borrowed until it leaves.
struct rb_arbiter_job {
    struct rb_controller *controller;
    const struct rb_provider *lent;    // as returned by rb_lender_open
    const struct rb_plan *plan;        // policy shared
    double weight;
    int64_t deadline_us;               // from its arrival; INT64_MAX: none
    int64_t age_us;                    // since its arrival, if it is a resumed run
    struct rb_lent_use had;            // use before now, if it is a resumed run
};

struct rb_arbiter;
bool rb_arbiter_create(const struct rb_arbiter_config *config, struct rb_arbiter **out, struct rb_err *err);
void rb_arbiter_destroy(struct rb_arbiter *a); // NULL is fine
// Sets the run whose nodes are divided. Call it before the first job joins.
void rb_arbiter_own(struct rb_arbiter *a, const struct rb_controller *owner);

int rb_arbiter_join(struct rb_arbiter *a, const struct rb_arbiter_job *job); // its number, from 0
void rb_arbiter_leave(struct rb_arbiter *a, int job);                        // its GPUs go to the others

// Pass it every event of the owner and of the borrowers. It acts on them later, from the loop.
void rb_arbiter_observe(struct rb_arbiter *a, const struct rb_event *event);

#endif
