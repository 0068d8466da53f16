// Is a run alive? A run of this machine is alive if its lock is held. If the lock is certainly free, the run is not
// alive, whatever its lease says: its process has gone. For every other run (unknown here, or with a lock that may be
// held where this machine does not see it) the leases of its instances decide. Without a lease only the age counts:
// older versions wrote none.
#include "executor/gc/gc.h"

#include "base/clock.h"
#include "base/errors/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_named(const struct rb_gc *gc, const char *id)
{
    for (int i = 0; i < gc->n_named; i++)
        if (strcmp(gc->named[i], id) == 0)
            return true;
    return false;
}

int64_t rb_gc_clock_us(const struct rb_gc *gc, int infra)
{
    const struct rb_provider *p = &gc->providers[infra];
    return p->ops->clock_us ? p->ops->clock_us(p) : -1;
}

void rb_gc_warn_clockless(struct rb_gc *gc, int infra)
{
    if (!gc->clockless[infra] && rb_gc_is_news(gc, gc->infras[infra]))
        rb_warn("%s does not show its clock, so leases there cannot be judged: what has one counts as in use",
                gc->infras[infra]);
    gc->clockless[infra] = true;
}

// If instances carry no leases, a run that is not known here counts as in use: its instances end by themselves, or by
// name.
static bool is_in_use(struct rb_gc *gc, int infra, const struct rb_instance *i)
{
    if (!gc->providers[infra].ops->renew)
        return true;
    switch (rb_lease_state(i->expires_at, rb_gc_clock_us(gc, infra))) {
    case RB_LEASE_FRESH:
        return true;
    case RB_LEASE_UNKNOWN:
        rb_gc_warn_clockless(gc, infra);
        return true;
    case RB_LEASE_LAPSED:
    case RB_LEASE_NONE:
        break;
    }
    return false;
}

// By the cloud's clock, which also dates the start.
static int64_t age_us(const struct rb_gc *gc, int infra, const struct rb_instance *i)
{
    const int64_t clock_us = rb_gc_clock_us(gc, infra);
    return i->running_at_us < 0 ? -1 : (clock_us >= 0 ? clock_us : rb_clock_unix_us()) - i->running_at_us;
}

struct rb_gc_instance *rb_gc_add_found(struct rb_gc *gc, int infra, const struct rb_instance *i, bool in_use)
{
    gc->found = rb_xrealloc(gc->found, (size_t)gc->n_found + 1, sizeof *gc->found);
    struct rb_gc_instance *f = &gc->found[gc->n_found++];
    *f = (struct rb_gc_instance){.infra = infra, .age_us = age_us(gc, infra, i), .in_use = in_use, .named = is_named(gc, i->id)};
    snprintf(f->id, sizeof f->id, "%s", i->id);
    snprintf(f->run_id, sizeof f->run_id, "%s", i->run_id);
    snprintf(f->instance_type, sizeof f->instance_type, "%s", i->instance_type ? i->instance_type : "");
    snprintf(f->expires_at, sizeof f->expires_at, "%.39s", in_use && i->expires_at ? i->expires_at : "");
    return f;
}

// An instance of a run of this machine is ours whatever its owner is called: host names change.
static bool is_ours(const struct rb_gc *gc, const char *owner, enum rb_run_hold hold)
{
    return rb_gc_is_owner(gc, owner) || (!gc->is_elsewhere && hold != RB_RUN_NOT_HERE);
}

static void judge_ours(struct rb_gc *gc, int infra, const struct rb_instance *i, enum rb_run_hold hold)
{
    const int64_t age = age_us(gc, infra, i), grace_us = gc->grace_us;
    const bool in_use = hold != RB_RUN_IDLE && is_in_use(gc, infra, i);
    if (in_use || is_named(gc, i->id) || (age >= 0 ? age >= grace_us : grace_us <= 0)) {
        rb_gc_add_found(gc, infra, i, in_use);
        return;
    }
    rb_info("%s in %s: %s: left alone; to end it, add --older-than 0s", i->id, gc->infras[infra],
            age >= 0 ? "younger than --older-than" : "of unknown age");
    gc->n_spared++;
}

void rb_gc_judge(struct rb_gc *gc, int infra, const struct rb_instance *i)
{
    if (i->state == RB_INSTANCE_TERMINATED || i->state == RB_INSTANCE_STOPPING || !i->owner || !i->run_id)
        return;
    const enum rb_run_hold hold = rb_run_hold(gc->root, i->run_id);
    if (!is_ours(gc, i->owner, hold)) {
        rb_info("%s in %s: belongs to %s: left alone", i->id, gc->infras[infra], i->owner);
    } else if (hold == RB_RUN_AT_WORK) {
        rb_info("%s in %s: run %s is being executed: left alone", i->id, gc->infras[infra], i->run_id);
        if (is_named(gc, i->id))
            snprintf(gc->at_work, sizeof gc->at_work, "%s", i->id);
    } else {
        judge_ours(gc, infra, i, hold);
    }
}

static bool stays_in_use(const struct rb_gc *gc, const char *run_id)
{
    for (int i = 0; i < gc->n_found; i++)
        if (!rb_gc_ends(&gc->found[i]) && strcmp(gc->found[i].run_id, run_id) == 0)
            return true;
    return false;
}

bool rb_gc_group_is_left_over(void *ctx, const struct rb_placement_group *g)
{
    const struct rb_gc *gc = ctx;
    if (!g->owner || !g->run_id)
        return false;
    const enum rb_run_hold hold = rb_run_hold(gc->root, g->run_id);
    return is_ours(gc, g->owner, hold) && hold != RB_RUN_AT_WORK && (hold == RB_RUN_IDLE || !g->in_use) &&
           !stays_in_use(gc, g->run_id);
}

int rb_gc_count(const struct rb_gc *gc, bool in_use)
{
    int n = 0;
    for (int i = 0; i < gc->n_found; i++)
        n += gc->found[i].in_use == in_use;
    return n;
}

bool rb_gc_ends(const struct rb_gc_instance *f)
{
    return !f->in_use || f->named;
}

bool rb_gc_is_certain(const struct rb_gc *gc)
{
    return gc->n_unknown == 0 && gc->failure.code == RB_ERR_NONE;
}
