// The journal takes no more writes: mostly a full disk. Nothing is launched or decided any more, and everything that carries
// the run's tag is ended. That needs no record: `rbrun resume` finds by listing what has ended, as if the controller had died
// and the cloud had taken its nodes.
#include "executor/controller/controller_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// An instance that must end. Its bill ends when that is accepted; the last listing shows that it has ended.
struct target {
    char instance_id[128];
    int infra;
    bool asked, accepted; // a call is under way; it was accepted
};

struct rb_controller_rescue {
    struct target *targets;
    int n_targets;
    bool *listing, *clean; // [n_providers] a call is under way; the last one was complete and showed nothing alive
    int64_t begun_us;
    int64_t targeted_us; // the last target was found: listings asked for before that prove nothing
    uint64_t timer;
};

static bool is_local(const struct rb_controller *c, int infra)
{
    return strcmp(c->config.infras[infra], "local") == 0; // this machine: nothing to end, nothing to pay
}

static void ended(void *arg, const struct rb_err *err)
{
    struct rb_run_call *call = arg;
    struct target *t = &call->c->rescue->targets[call->number];
    t->asked = false;
    t->accepted = t->accepted || !err; // else the next round asks again
    rb_run_call_end(call);
}

static void end_target(struct rb_controller *c, int i)
{
    struct target *t = &c->rescue->targets[i];
    struct rb_provider *p = &c->config.providers[t->infra];
    if (t->asked)
        return;
    t->asked = true;
    struct rb_run_call *call = rb_run_call_begin(c, RB_CALL_TERMINATE, NULL, t->infra);
    call->number = (uint64_t)i;
    p->ops->terminate(p, t->instance_id, ended, call);
}

static bool is_written_down(const struct rb_controller *c, const char *id)
{
    for (int i = 0; i < rb_controller_n_launches(c); i++)
        if (strcmp(rb_controller_launch_at(c, i)->row.instance_id, id) == 0)
            return true;
    return false;
}

// `rbrun resume` repeats requests without an answer, and finds their instances. It does not find what came of a refused request
// or carries our tag for another reason.
static void note_unknown(struct rb_controller *c, const char *id)
{
    char text[256];
    snprintf(
        text, sizeof text,
        "instance %s carries this run's tag and is not written down: it is ended, and if nobody has asked for it, its "
        "bill is not in the run's ledger",
        id);
    if (c->config.talk)
        c->config.talk(c->config.ctx, "warning", text);
}

static void add_target(struct rb_controller *c, int infra, const char *id)
{
    struct rb_controller_rescue *r = c->rescue;
    int i = 0;
    while (i < r->n_targets && strcmp(r->targets[i].instance_id, id) != 0)
        i++;
    if (i == r->n_targets) {
        r->targets = rb_xrealloc(r->targets, (size_t)r->n_targets + 1, sizeof *r->targets);
        r->targets[r->n_targets] = (struct target){.infra = infra};
        snprintf(r->targets[r->n_targets++].instance_id, sizeof r->targets->instance_id, "%s", id);
        r->clean[infra] = false;
        r->targeted_us = rb_controller_now_us(c);
        if (!is_written_down(c, id))
            note_unknown(c, id);
    }
    end_target(c, i);
}

void rb_run_gang_rescue(struct rb_run_gang *g, const struct rb_err *err, const struct rb_instance *instances)
{
    struct rb_controller *c = g->c;
    const bool refused = err && (err->code == RB_ERR_CAPACITY || err->code == RB_ERR_DENIED ||
                                 err->code == RB_ERR_INVALID || err->code == RB_ERR_PRICE);
    if (!c->rescue)
        return;
    for (int i = 0; i < g->n; i++) {
        struct rb_run_node *n = g->members[i];
        if (!err)
            add_target(c, rb_controller_infra_of(c, n->row.infra), instances[i].id);
        if ((!err || refused) && rb_run_node_is_undecided(n))
            rb_run_node_enter(n, refused ? RB_LAUNCH_REFUSED : RB_LAUNCH_ACKED);
    }
}

// --- is it over?

// A request without an answer may still arrive, and its instances are listed late.
static int64_t quiet_until(const struct rb_controller *c)
{
    int64_t until_us = c->linger_until_us;
    for (int i = 0; i < c->n_gangs; i++) {
        const struct rb_run_node *open = rb_run_gang_undecided_member(c->gangs[i]);
        const int64_t last_us = rb_run_gang_is_called(c->gangs[i]) ? rb_controller_now_us(c) : c->rescue->begun_us;
        const int64_t listed_us = last_us + (RB_CONTROLLER_LATE_S + RB_CONTROLLER_NEW_S) * RB_US_PER_S;
        if (open && open->row.state != RB_LAUNCH_INTENT && listed_us > until_us)
            until_us = listed_us;
    }
    return until_us;
}

static bool all_ended(const struct rb_controller *c)
{
    bool all = true;
    for (int i = 0; i < c->rescue->n_targets; i++)
        all = all && c->rescue->targets[i].accepted;
    for (int i = 0; i < c->config.n_providers; i++)
        all = all && (is_local(c, i) || c->rescue->clean[i]);
    return all && rb_controller_now_us(c) >= quiet_until(c);
}

static bool runs_here(const struct rb_controller *c)
{
    bool here = false;
    for (int i = 0; i < c->config.n_providers; i++)
        here = here || is_local(c, i);
    return here;
}

static void leave(struct rb_controller *c, bool all)
{
    struct rb_err err = {0};
    rb_err_set(&err, rb_err_number(&c->failure),
               all ? "%s; the run cannot go on without its journal: %s; make room, then say `rbrun resume %s`"
                   : "%s; the run cannot go on without its journal, and %s; look with `rbrun gc --dry-run`, make room, "
                     "then say `rbrun stop %s`",
               c->failure.message,
               !all           ? "not all of its instances are known to have ended"
               : runs_here(c) ? "what it started on this machine goes on"
                              : "all its instances were ended, and a listing shows none left",
               rb_controller_resume_name(c));
    rb_controller_leave_run(c, &err);
}

// --- rounds

static void list(struct rb_controller *c, int infra);

static void next_round(void *arg)
{
    struct rb_controller *c = arg;
    struct rb_controller_rescue *r = c->rescue;
    const bool all = all_ended(c);
    r->timer = 0;
    if (all || rb_controller_now_us(c) - r->begun_us >= RB_CONTROLLER_RESCUE_S * RB_US_PER_S) {
        leave(c, all);
        return;
    }
    for (int i = 0; i < r->n_targets; i++)
        if (!r->targets[i].accepted)
            end_target(c, i);
    for (int i = 0; i < c->config.n_providers; i++)
        if (!is_local(c, i) && !r->listing[i])
            list(c, i);
    rb_controller_arm(c, &r->timer, c->config.poll_us, next_round, c);
}

static void listed(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct rb_run_call *call = arg;
    struct rb_controller *c = call->c;
    const int infra = call->infra;
    const int64_t asked_us = call->asked_us;
    bool alive = false;
    rb_run_call_end(call);
    c->rescue->listing[infra] = false;
    for (int i = 0; i < n && c->phase != RB_PHASE_OVER; i++) {
        alive = alive || instances[i].state != RB_INSTANCE_TERMINATED;
        if (instances[i].state != RB_INSTANCE_TERMINATED && instances[i].state != RB_INSTANCE_STOPPING)
            add_target(c, infra, instances[i].id);
    }
    c->rescue->clean[infra] = !err && complete && !alive && asked_us > c->rescue->targeted_us;
}

static void list(struct rb_controller *c, int infra)
{
    struct rb_provider *p = &c->config.providers[infra];
    c->rescue->listing[infra] = true;
    p->ops->list(p, c->config.run_id, listed, rb_run_call_begin(c, RB_CALL_LIST, NULL, infra));
}

// --- begin and end

static void begin(void *arg)
{
    struct rb_controller *c = arg;
    c->rescue->timer = 0;
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        const struct rb_run_node *n = rb_controller_launch_at(c, i);
        if (rb_run_node_has_row(n) && n->row.instance_id[0] && n->row.state != RB_LAUNCH_GONE &&
            !rb_run_node_is_local(n))
            add_target(c, rb_controller_infra_of(c, n->row.infra), n->row.instance_id);
    }
    next_round(c);
}

void rb_controller_rescue(struct rb_controller *c)
{
    const size_t n = (size_t)c->config.n_providers;
    char text[1024];
    snprintf(text, sizeof text, "%s: nothing is started any more, and every instance of the run is being ended",
             c->failure.message);
    if (c->config.talk)
        c->config.talk(c->config.ctx, "fault", text);
    c->rescue = rb_xcalloc(1, sizeof *c->rescue);
    c->rescue->listing = rb_xcalloc(n, sizeof *c->rescue->listing);
    c->rescue->clean = rb_xcalloc(n, sizeof *c->rescue->clean);
    c->rescue->begun_us = rb_controller_now_us(c);
    rb_controller_arm(c, &c->rescue->timer, 0, begin, c); // the writer is still on the stack
}

void rb_controller_rescue_free(struct rb_controller *c)
{
    if (!c->rescue)
        return;
    rb_controller_disarm(c, &c->rescue->timer);
    free(c->rescue->targets);
    free(c->rescue->listing);
    free(c->rescue->clean);
    free(c->rescue);
}
