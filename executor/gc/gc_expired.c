// A watchdog has no journal and sees no process: the tags of an instance and the cloud's clock decide. A lease that
// lapsed a while ago means that no process renews it. Everything else is spared.
#include "executor/gc/gc.h"

// Instances of a place without leases, and those of a version that wrote none, have no state but NONE.
void rb_gc_judge_by_lease(struct rb_gc *gc, int infra, const struct rb_instance *i)
{
    if (i->state == RB_INSTANCE_TERMINATED || i->state == RB_INSTANCE_STOPPING || !i->owner || !i->run_id ||
        !rb_gc_is_owner(gc, i->owner))
        return;
    const int64_t clock_us = rb_gc_clock_us(gc, infra);
    const enum rb_lease_state state = rb_lease_state(i->expires_at, clock_us);
    const bool is_over = state == RB_LEASE_LAPSED &&
                         (gc->grace_us <= 0 || rb_lease_state(i->expires_at, clock_us - gc->grace_us) == RB_LEASE_LAPSED);
    if (state == RB_LEASE_UNKNOWN)
        rb_gc_warn_clockless(gc, infra);
    struct rb_gc_instance *f = rb_gc_add_found(gc, infra, i, !is_over);
    f->lapsed = state == RB_LEASE_LAPSED;
    if (state == RB_LEASE_NONE)
        f->expires_at[0] = '\0';
}
