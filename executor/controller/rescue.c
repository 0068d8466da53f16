// The journal takes no more writes: usually the disk is full. Nothing is launched or decided from then on, and every
// instance with the run's tag is ended. That needs no record: `rbrun resume` finds by listing what has ended, as if the
// controller had died and the cloud had taken its nodes.
#include "executor/controller/controller_private.h"

#include <stdio.h>
#include <string.h>

static bool is_local(const struct rb_controller *c, int infra)
{
    return strcmp(c->config.places[infra].infra, "local") == 0; // this machine: nothing to end, nothing to pay
}

static void ended(void *arg, const struct rb_err *err)
{
    struct rb_run_call *call = arg;
    if (!err) // else the next round asks again
        call->c->orphans[call->number].ended = true;
    rb_run_call_end(call);
}

static void end_orphan(struct rb_controller *c, int i)
{
    const struct rb_run_orphan *o = &c->orphans[i];
    struct rb_provider *p = c->config.places[o->infra].provider;
    for (struct rb_run_call *call = c->calls; call; call = call->next)
        if (call->kind == RB_CALL_RESCUE && call->number == (uint64_t)i)
            return;
    struct rb_run_call *call = rb_run_call_begin(c, RB_CALL_RESCUE, NULL, o->infra);
    call->number = (uint64_t)i;
    p->ops->terminate(p, o->instance_id, ended, call);
}

static bool is_written_down(const struct rb_controller *c, const char *id)
{
    for (int i = 0; i < rb_controller_n_launches(c); i++)
        if (strcmp(rb_controller_launch_at(c, i)->row.instance_id, id) == 0)
            return true;
    return false;
}

// `rbrun resume` repeats requests without an answer, and finds their instances. A copy of a refused request it finds only while
// the cloud lists that instance with its tags, and what carries our tag for another reason it never bills.
static void note_unknown(struct rb_controller *c, const char *id)
{
    char text[384];
    snprintf(text, sizeof text,
             "instance %s carries this run's tag and is not in the journal: it is being ended; the run's ledger gets "
             "its bill if the cloud still lists it when the run is resumed",
             id);
    if (c->config.talk)
        c->config.talk(c->config.ctx, "warning", text);
}

static void add_orphan(struct rb_controller *c, int infra, const char *id)
{
    bool is_new;
    const int i = rb_controller_find_orphan(c, infra, id, &is_new);
    if (is_new) {
        c->clouds[infra].listed = false;
        c->rescue.found_us = rb_controller_now_us(c);
        if (!is_written_down(c, id))
            note_unknown(c, id);
    }
    end_orphan(c, i);
}

void rb_run_gang_rescue(struct rb_run_gang *g, const struct rb_err *err, const struct rb_instance *instances)
{
    struct rb_controller *c = g->c;
    const bool refused = err && (err->code == RB_ERR_CAPACITY || err->code == RB_ERR_DENIED ||
                                 err->code == RB_ERR_INVALID || err->code == RB_ERR_PRICE);
    if (!c->rescue.on)
        return;
    for (int i = 0; i < g->n; i++) {
        struct rb_run_node *n = g->members[i];
        if (!err)
            add_orphan(c, rb_controller_infra_of(c, n->row.infra), instances[i].id);
        if ((!err || refused) && rb_run_node_is_undecided(n))
            rb_run_node_enter(n, refused ? RB_LAUNCH_REFUSED : RB_LAUNCH_ACKED);
    }
}

// A request without an answer may still arrive, and its instances are listed late.
static int64_t quiet_until(const struct rb_controller *c)
{
    int64_t until_us = c->linger_until_us;
    for (int i = 0; i < c->n_gangs; i++) {
        const struct rb_run_node *open = rb_run_gang_find(c->gangs[i], rb_run_node_is_undecided);
        const int64_t last_us = rb_run_gang_is_called(c->gangs[i]) ? rb_controller_now_us(c) : c->rescue.begun_us;
        const int64_t listed_us = last_us + (RB_CONTROLLER_LATE_S + RB_CONTROLLER_NEW_S) * RB_US_PER_S;
        if (open && open->row.state != RB_LAUNCH_INTENT && listed_us > until_us)
            until_us = listed_us;
    }
    return until_us;
}

static bool all_ended(const struct rb_controller *c)
{
    bool all = true;
    for (int i = 0; i < c->n_orphans; i++)
        all = all && c->orphans[i].ended;
    for (int i = 0; i < c->config.n_places; i++)
        all = all && (is_local(c, i) || c->clouds[i].listed);
    return all && rb_controller_now_us(c) >= quiet_until(c);
}

static void leave(struct rb_controller *c, bool all)
{
    struct rb_err err = {0};
    rb_err_set(
        &err, rb_err_number(&c->failure),
        all ? "%s; the run cannot continue without its journal: %s; make room, then run `rbrun resume %s`"
            : "%s; the run cannot continue without its journal, and %s; look with `rbrun gc --dry-run`, make room, "
              "then run `rbrun stop %s`",
        c->failure.message,
        !all                                      ? "not all of its instances are known to have ended"
        : rb_controller_infra_of(c, "local") >= 0 ? "its processes on this machine continue"
                                                  : "all its instances were ended, and a listing shows none left",
        rb_controller_resume_name(c));
    rb_controller_leave_run(c, &err);
}

static void list(struct rb_controller *c, int infra);

static void next_round(void *arg)
{
    struct rb_controller *c = arg;
    const bool all = all_ended(c);
    c->rescue.timer = 0;
    if (all || rb_controller_now_us(c) - c->rescue.begun_us >= RB_CONTROLLER_RESCUE_S * RB_US_PER_S) {
        leave(c, all);
        return;
    }
    for (int i = 0; i < c->n_orphans; i++)
        if (!c->orphans[i].ended)
            end_orphan(c, i);
    for (int i = 0; i < c->config.n_places; i++)
        if (!is_local(c, i) && !c->clouds[i].listing)
            list(c, i);
    rb_controller_arm(c, &c->rescue.timer, c->config.poll_us, next_round, c);
}

static void listed(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct rb_run_call *call = arg;
    struct rb_controller *c = call->c;
    const int infra = call->infra;
    const int64_t asked_us = call->asked_us;
    bool alive = false;
    rb_run_call_end(call);
    c->clouds[infra].listing = false;
    for (int i = 0; i < n && c->phase != RB_PHASE_OVER; i++) {
        if (rb_controller_is_its_machine(c, instances[i].id))
            continue;
        alive = alive || instances[i].state != RB_INSTANCE_TERMINATED;
        if (instances[i].state != RB_INSTANCE_TERMINATED && instances[i].state != RB_INSTANCE_STOPPING)
            add_orphan(c, infra, instances[i].id);
    }
    c->clouds[infra].listed = !err && complete && !alive && asked_us > c->rescue.found_us;
}

static void list(struct rb_controller *c, int infra)
{
    struct rb_provider *p = c->config.places[infra].provider;
    c->clouds[infra].listing = true;
    p->ops->list(p, c->config.run_id, listed, rb_run_call_begin(c, RB_CALL_LIST, NULL, infra));
}

static void begin(void *arg)
{
    struct rb_controller *c = arg;
    c->rescue.timer = 0;
    for (int i = 0; i < c->config.n_places; i++) // listings from before the rescue prove nothing
        c->clouds[i].listing = c->clouds[i].listed = false;
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        const struct rb_run_node *n = rb_controller_launch_at(c, i);
        if (rb_run_node_has_row(n) && n->row.instance_id[0] && n->row.state != RB_LAUNCH_GONE &&
            !rb_run_node_is_local(n))
            add_orphan(c, rb_controller_infra_of(c, n->row.infra), n->row.instance_id);
    }
    next_round(c);
}

void rb_controller_rescue(struct rb_controller *c)
{
    char text[1024];
    snprintf(text, sizeof text, "%s: nothing more is started, and every instance of the run is being ended",
             c->failure.message);
    if (c->config.talk)
        c->config.talk(c->config.ctx, "fault", text);
    c->rescue.on = true;
    c->rescue.begun_us = rb_controller_now_us(c);
    c->n_orphans = 0;                                    // found again below, with every other instance
    rb_controller_arm(c, &c->rescue.timer, 0, begin, c); // the writer is still on the stack
}
