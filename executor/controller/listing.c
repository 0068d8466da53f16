// Listings: compares the instances that the clouds report with the rows. An incomplete listing proves nothing, and absence is
// believed only after a while.
#include "executor/controller/controller_private.h"

#include <stdio.h>
#include <string.h>

#define WAKE_US             (RB_US_PER_S / 4) // from a change to the listing that shows it and those that come with it
#define ABSENT_LISTED_US    (10 * RB_US_PER_S) // a listed node that is missing for this long is lost
#define ABSENT_NEW_US       (RB_CONTROLLER_NEW_S * RB_US_PER_S)
#define ABSENT_FORGOTTEN_US (300 * RB_US_PER_S) // not found for this long: it has ended

bool rb_controller_orphans_are_over(const struct rb_controller *c)
{
    for (int i = 0; i < c->n_orphans; i++)
        if (!c->orphans[i].ended)
            return false;
    return true;
}

static void orphan_answered(void *arg, const struct rb_err *err)
{
    (void)err; // the next listing shows whether it worked
    rb_run_call_end(arg);
}

int rb_controller_find_orphan(struct rb_controller *c, int infra, const char *id, bool *out_is_new)
{
    int at = 0;
    while (at < c->n_orphans && strcmp(c->orphans[at].instance_id, id) != 0)
        at++;
    *out_is_new = at == c->n_orphans;
    if (*out_is_new) {
        c->orphans = rb_xrealloc(c->orphans, (size_t)c->n_orphans + 1, sizeof *c->orphans);
        c->orphans[c->n_orphans++] = (struct rb_run_orphan){.infra = infra};
        snprintf(c->orphans[at].instance_id, sizeof c->orphans[at].instance_id, "%s", id);
    }
    return at;
}

static void end_orphan(struct rb_controller *c, int infra, const char *id)
{
    struct rb_provider *p = c->config.places[infra].provider;
    bool is_new;
    const int at = rb_controller_find_orphan(c, infra, id, &is_new);
    if (is_new)
        rb_controller_note(c, "fault", "instance %s carries this run's tag but belongs to no launch: ending it", id);
    c->orphans[at].ended = false;
    p->ops->terminate(p, id, orphan_answered, rb_run_call_begin(c, RB_CALL_TERMINATE, NULL, infra));
}

static struct rb_run_node *node_of(struct rb_controller *c, const struct rb_instance *i)
{
    for (int k = 0; k < rb_controller_n_launches(c); k++) {
        struct rb_run_node *n = rb_controller_launch_at(c, k);
        if (rb_run_node_has_row(n) && n->row.instance_id[0] && strcmp(i->id, n->row.instance_id) == 0)
            return n;
    }
    for (int k = 0; k < c->n_gangs; k++) {
        const struct rb_run_gang *g = c->gangs[k];
        const struct rb_launch_row *row = &g->members[0]->row;
        if ((i->launch_id && strcmp(i->launch_id, row->launch_id) == 0) ||
            (i->token && strcmp(i->token, row->token) == 0))
            return g->members[i->member < g->n ? i->member : 0];
    }
    return NULL;
}

// Does the launch wait for this instance? A refused gang has been launched elsewhere since, or will be: none of its
// instances is accepted now. An intent has an instance where its request was refused and a copy of it was not.
static bool is_awaited(const struct rb_run_node *n, const struct rb_instance *i)
{
    const bool of_refused = n->row.state == RB_LAUNCH_REFUSED && n->gang && n->gang->n == 1;
    return n->gang && i->member < n->gang->n &&
           (rb_run_node_is_undecided(n) || of_refused);
}

void rb_run_node_copy_addresses(struct rb_run_node *n, const struct rb_instance *i)
{
    if (i->address)
        snprintf(n->row.address, sizeof n->row.address, "%s", i->address);
    if (i->private_address)
        snprintf(n->row.private_address, sizeof n->row.private_address, "%s", i->private_address);
}

// By the cloud's clock, as the notice is. An end that a listing shows has begun.
static void take_notice(struct rb_run_node *n, int64_t leaves_at_us)
{
    const struct rb_provider *p = rb_run_node_provider(n);
    const int64_t clock_us = p->ops->clock_us ? p->ops->clock_us(p) : -1;
    if (leaves_at_us <= 0 || clock_us < 0)
        return;
    rb_run_node_leaving(n->c, n->id, leaves_at_us > clock_us ? (leaves_at_us - clock_us) / RB_US_PER_S : 0);
    rb_run_node_let_go(n);
}

static void observe_running(struct rb_run_node *n, const struct rb_instance *instance)
{
    struct rb_controller *c = n->c;
    rb_run_node_copy_addresses(n, instance);
    if (instance->pull_us > 0)
        n->pull_us = instance->pull_us;
    if (n->row.state == RB_LAUNCH_ACKED) {
        rb_run_node_enter(n, RB_LAUNCH_RUNNING);
        n->row.running_unix_us =
            instance->running_at_us >= 0 ? instance->running_at_us : c->config.loop->unix_us(c->config.loop->ctx);
        if (rb_controller_begin(c) && rb_run_node_write(n))
            rb_controller_turn(
                c, (struct rb_event){.kind = RB_EVENT_NODE_RUNNING, .node = n->id, .attempt = n->row.attempt});
    }
    if (n->row.state == RB_LAUNCH_RUNNING || n->row.state == RB_LAUNCH_READY)
        rb_run_node_prepare(n);
}

// The cloud bills by its own clock. The end that it reports is journalled at once: ended instances lose their tags, and with
// them their place in our listings. False: the journal failed.
static bool learn_times(struct rb_run_node *n, const struct rb_instance *instance)
{
    const bool ends = instance->state != RB_INSTANCE_PENDING && instance->state != RB_INSTANCE_RUNNING;
    if (n->row.running_unix_us < 0 && (ends || n->row.state == RB_LAUNCH_TERMINATING))
        n->row.running_unix_us = instance->running_at_us;
    if (!ends || instance->terminated_at_us < 0 || n->end_dated)
        return true;
    n->end_dated = true;
    n->row.terminated_unix_us = instance->terminated_at_us;
    return rb_run_node_write(n);
}

// The plan's offer of the same machine on that market, -1: none.
static int offer_on(const struct rb_run_node *n, enum rb_market market)
{
    const struct rb_plan *plan = n->c->config.plan;
    for (int i = 0; i < plan->n_offers; i++)
        if (plan->offers[i].market == market && strcmp(plan->offers[i].infra, n->row.infra) == 0 &&
            strcmp(plan->offers[i].instance_type, n->row.instance_type) == 0)
            return i;
    return -1;
}

// A cloud may give another market than the requested one. The node is as good, but its price differs: if the price is
// unknown, the node is ended. False: it was lost, or the journal failed.
static bool check_market(struct rb_run_node *n, const struct rb_instance *instance)
{
    struct rb_controller *c = n->c;
    const char *market = rb_market_name(instance->market);
    struct rb_err err = {0};
    if (instance->market_unknown && n->row.running_us < 0 && rb_controller_says_first(&n->said, RB_SAID_OTHER_MARKET))
        rb_controller_note(
            c, "warning",
            "node %d (%s): it has ended, and the cloud no longer reports on which market it ran: billed as "
            "%s, as it was asked for",
            n->id, n->row.instance_id, n->row.market);
    if (instance->market_unknown || strcmp(market, n->row.market) == 0 ||
        !rb_controller_says_first(&n->said, RB_SAID_OTHER_MARKET))
        return true;
    const int offer = offer_on(n, instance->market);
    rb_controller_note(c, "fault", "node %d (%s): asked for %s, got %s", n->id, n->row.instance_id, n->row.market,
                       market);
    if (offer < 0) { // billed at the requested offer's price
        rb_err_set(&err, RB_E_PRICE_NOT_AGREED,
                   "the cloud gave %s instead of %s, at a price that the plan does not name", market, n->row.market);
        if (rb_run_node_exists(n))
            rb_run_node_fail_boot(n, &err);
        return false;
    }
    n->row.offer = offer;
    strcpy(n->row.market, market);
    if (!rb_spend_billing(c->config.plan, offer, &n->billing, &err)) {
        rb_controller_fail_run(c, &err);
        return false;
    }
    return rb_run_node_write(n);
}

bool rb_run_node_is_cut_off(const struct rb_run_node *n)
{
    const struct rb_controller *c = n->c;
    const int64_t heard_us = c->clouds[rb_controller_infra_of(c, n->row.infra)].heard_us;
    return rb_quiet_us(c->config.loop, heard_us) >= c->config.poll_us + RB_CONTROLLER_CUT_OFF_S * RB_US_PER_S;
}

// Its cloud says why it waits: noted once, and kept for the error if it waits for too long.
static void note_waiting(struct rb_run_node *n, const char *why)
{
    snprintf(n->waits_for, sizeof n->waits_for, "%s", why);
    if (rb_run_node_is_wanted(n) && rb_controller_says_first(&n->said, RB_SAID_WAITS))
        rb_controller_note(n->c, "warning", "node %d (%s) waits: %s", n->id, n->row.instance_id, why);
}

// In a queue it may wait for its machine as long as it takes. From then on it is billed: what holds it up must pass soon.
static void judge_hold(struct rb_run_node *n, const struct rb_instance *instance)
{
    const bool held = instance->state == RB_INSTANCE_PENDING && instance->running_at_us >= 0 && instance->state_reason;
    if (n->row.state != RB_LAUNCH_ACKED || rb_run_node_place(n)->held_timeout_us == 0 || held == (n->held_us >= 0))
        return;
    n->held_us = held ? rb_controller_now_us(n->c) : -1;
    rb_run_node_await_ready(n);
}

static void lose_to(struct rb_run_node *n, const char *address)
{
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    rb_buf_printf(&why, "%s has taken its place", address);
    if (rb_run_node_exists(n))
        rb_run_node_lose(n, rb_buf_str(&why));
}

void rb_run_node_observe(struct rb_run_node *n, const struct rb_instance *instance)
{
    struct rb_controller *c = n->c;
    if (c->dead || n->row.state < RB_LAUNCH_ACKED || n->row.state == RB_LAUNCH_GONE || !learn_times(n, instance) ||
        !check_market(n, instance))
        return;
    if (rb_instance_is_another(rb_run_node_provider(n), n->row.address, instance)) {
        lose_to(n, instance->address);
        return;
    }
    if (instance->fault && rb_run_node_is_wanted(n)) {
        struct rb_err fault = *instance->fault;
        rb_err_prefix(&fault, "node %d (%s)", n->id, n->row.instance_id);
        rb_controller_fail_run(c, &fault);
    }
    judge_hold(n, instance);
    rb_run_node_learn_market(n, instance->zone); // first: what follows may launch the node again
    switch (instance->state) {
    case RB_INSTANCE_PENDING:
        rb_run_node_copy_addresses(n, instance);
        if (instance->state_reason)
            note_waiting(n, instance->state_reason);
        break;
    case RB_INSTANCE_RUNNING:
        observe_running(n, instance);
        if (rb_run_node_exists(n)) // else it is being ended, maybe beside the node of its number
            take_notice(n, instance->leaves_at_us);
        break;
    case RB_INSTANCE_STOPPING:
    case RB_INSTANCE_STOPPED:
        if (rb_run_node_exists(n))
            rb_run_node_lose(n, instance->state_reason ? instance->state_reason : "it is shutting down");
        break;
    case RB_INSTANCE_TERMINATED:
        if (instance->sold_out)
            rb_run_node_was_sold_out(n, instance->state_reason ? instance->state_reason : "the cloud says no more");
        rb_run_node_record_gone(n, instance->state_reason ? instance->state_reason : "its instance was terminated");
        break;
    }
}

// A listing that lags shows nothing about the moment at which it was asked for.
static void note_no_machine(struct rb_run_node *n, const struct rb_instance *instance, int64_t asked_us)
{
    if (instance->state == RB_INSTANCE_PENDING && instance->running_at_us < 0 &&
        rb_run_node_provider(n)->ops->lists_at_once)
        n->waited_us = asked_us;
}

// It has ended, at an unknown time. An unknown time is never free; an end that is known to precede its running is.
static void believe_absence(struct rb_run_node *n)
{
    const int64_t from_us = n->waited_us > n->row.intent_us ? n->waited_us : n->row.intent_us;
    if (n->row.running_unix_us < 0 && !n->end_dated)
        n->row.running_unix_us = n->c->meta.started_unix_us + from_us;
    if (!n->end_dated)
        rb_controller_note(n->c, "warning", "node %d (%s): the cloud has forgotten when it ran; billed by our clock",
                           n->id, n->row.instance_id);
    rb_run_node_record_gone(n, "it is listed no more");
}

static void looked(void *arg, const struct rb_err *err, const struct rb_instance *instance)
{
    struct rb_run_call *call = arg;
    struct rb_controller *c = call->c;
    struct rb_run_node *n = call->node;
    const bool ours = n->row.attempt == call->attempt;
    rb_run_call_end(call);
    if (c->dead || !ours)
        return;
    if (err && err->code == RB_ERR_NOT_FOUND)
        n->denied_looks = RB_CONTROLLER_DENIALS; // no more looks: the next listing without it decides
    else
        n->denied_looks = err && err->code == RB_ERR_DENIED ? n->denied_looks + 1 : 0;
    if (!err)
        rb_run_node_observe(n, instance);
    rb_controller_check_over(c);
}

// Listings find instances by tag. When asked by name, the cloud may still know when the instance ended. False: no use.
static bool ask_by_name(struct rb_run_node *n)
{
    struct rb_provider *p = rb_run_node_provider(n);
    if (n->end_dated || n->denied_looks >= RB_CONTROLLER_DENIALS || !p->ops->look)
        return false;
    if (!rb_run_call_is_open(n, RB_CALL_LOOK))
        p->ops->look(p, n->row.instance_id, looked, rb_run_call_begin(n->c, RB_CALL_LOOK, n, -1));
    return true;
}

// No listing has shown it to this controller, and the cloud's listings lag.
static bool may_lag(const struct rb_run_node *n)
{
    return n->listing == 0 && !rb_run_node_provider(n)->ops->lists_at_once;
}

// It is not in a complete listing. Absence is believed only after a while, and counts as an end only if its termination
// was accepted.
static void judge_absence(struct rb_run_node *n)
{
    const int64_t now = rb_controller_now_us(n->c);
    if (n->absent++ == 0)
        n->absent_since_us = now;
    const int64_t absent_us = now - n->absent_since_us;
    if (n->absent < RB_CONTROLLER_ABSENT_LISTINGS)
        return;
    if (n->row.state == RB_LAUNCH_TERMINATING) {
        const bool over = n->end == RB_END_ACCEPTED || (n->end == RB_END_NOT_FOUND && absent_us >= ABSENT_FORGOTTEN_US);
        if (over && !ask_by_name(n))
            believe_absence(n);
    } else if (absent_us >= (may_lag(n) ? ABSENT_NEW_US : ABSENT_LISTED_US)) {
        struct rb_err gone;
        rb_err_set(&gone, RB_E_NODE_LOST, "it is listed no more");
        if (n->row.state == RB_LAUNCH_READY)
            rb_run_node_lose(n, gone.message);
        else
            rb_run_node_fail_boot(n, &gone);
    }
}

// Another instance has its name, so it is gone, whatever the followers of its processes have heard. Nothing reports when such
// an instance ended: it is billed until its name was taken.
static void lose_place(struct rb_run_node *n, const struct rb_instance *instance)
{
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    if (n->c->dead || n->row.state < RB_LAUNCH_ACKED || n->row.state == RB_LAUNCH_GONE)
        return;
    if (!n->end_dated) {
        if (n->row.running_unix_us < 0)
            n->row.running_unix_us = n->c->meta.started_unix_us + n->row.intent_us;
        n->row.terminated_unix_us = instance->took_place_at_us > n->row.running_unix_us ? instance->took_place_at_us
                                                                                        : n->row.running_unix_us;
        n->end_dated = true;
        rb_controller_note(n->c, "warning",
                           "node %d (%s): the cloud has forgotten when it ran; billed until another one took its place",
                           n->id, n->row.instance_id);
    }
    rb_buf_printf(&why, "%s has taken its place", instance->id);
    rb_run_node_record_gone(n, rb_buf_str(&why));
}

// Does the instance decide the launch? While the call is under way, a pending instance does not: if it gets no machine,
// the call tries the next zone, and only its answer, or the answer to the repeated request, shows that. For a gang even
// a running instance does not decide: the call may be about to end it.
static bool decides_launch(const struct rb_run_node *n, const struct rb_instance *instance)
{
    return !rb_run_gang_is_called(n->gang) || (instance->state == RB_INSTANCE_RUNNING && n->gang->n == 1);
}

bool rb_controller_is_its_machine(const struct rb_controller *c, const char *instance_id)
{
    return c->config.machine && strcmp(c->config.machine->instance_id, instance_id) == 0;
}

static void judge_machine(struct rb_controller *c, const struct rb_instance *instance)
{
    const struct rb_loop *loop = c->config.loop;
    if (instance->state == RB_INSTANCE_TERMINATED && c->config.machine->ended_unix_us < 0)
        c->config.machine_ended(c->config.ctx, instance->terminated_at_us >= 0 ? instance->terminated_at_us
                                                                               : loop->unix_us(loop->ctx));
}

static void judge_instance(struct rb_controller *c, const struct rb_run_call *call, const struct rb_instance *instance)
{
    struct rb_run_node *n = node_of(c, instance);
    const bool alive = instance->state != RB_INSTANCE_TERMINATED;
    const bool ours = instance->run_id && strcmp(instance->run_id, c->config.run_id) == 0;
    if (n && is_awaited(n, instance)) {
        if (!decides_launch(n, instance))
            return;
        rb_run_node_acknowledge(n, instance);
    }
    if (n && n->row.state >= RB_LAUNCH_ACKED && n->row.state != RB_LAUNCH_GONE &&
        strcmp(n->row.instance_id, instance->id) == 0) {
        n->listing = call->number;
        n->absent = 0;
        note_no_machine(n, instance, call->asked_us);
        rb_run_node_observe(n, instance);
    } else if (n && strcmp(n->row.instance_id, instance->id) != 0) {
        rb_run_node_adopt_stray(n, instance);
        // Asked for earlier, the listing may show what was there before it.
        if (instance->took_place_at_us > 0 && n->acked_us < call->asked_us)
            lose_place(n, instance);
    } else if (alive && ours && instance->state != RB_INSTANCE_STOPPING) {
        end_orphan(c, call->infra, instance->id);
    }
}

static bool was_seen(const struct rb_run_node *n)
{
    return n->row.state >= RB_LAUNCH_ACKED;
}

// A complete listing, requested at that time, did not show an undecided launch. Listings show the members of a gang one
// by one: only after a while does a missing one mean that the cloud launched the gang incompletely.
static void miss_member(struct rb_run_node *n, int64_t asked_us)
{
    struct rb_controller *c = n->c;
    if (!rb_run_gang_find(n->gang, was_seen))
        return;
    if (n->absent++ == 0)
        n->absent_since_us = asked_us;
    if (n->absent >= RB_CONTROLLER_ABSENT_LISTINGS &&
        rb_controller_now_us(c) - n->absent_since_us >= RB_CONTROLLER_NEW_S * RB_US_PER_S)
        rb_run_gang_break(n->gang, "some of it was launched, and the rest is not to be seen");
}

static void judge_absences(struct rb_controller *c, int infra, const struct rb_run_call *call)
{
    for (int i = 0; i < rb_controller_n_launches(c) && !c->dead; i++) {
        struct rb_run_node *n = rb_controller_launch_at(c, i);
        if (!rb_run_node_has_row(n) || rb_run_node_is_local(n) || n->listing >= call->number ||
            rb_controller_infra_of(c, n->row.infra) != infra)
            continue;
        if (rb_run_node_is_undecided(n))
            miss_member(n, call->asked_us);
        else if (n->row.state >= RB_LAUNCH_ACKED && n->row.state != RB_LAUNCH_GONE && n->acked_us < call->asked_us)
            judge_absence(n);
    }
}

static void judge_orphans(struct rb_controller *c, int infra, const struct rb_instance *instances, int n)
{
    for (int i = 0; i < c->n_orphans; i++) {
        bool alive = false;
        for (int k = 0; k < n; k++)
            alive = alive || (instances[k].state != RB_INSTANCE_TERMINATED &&
                              strcmp(instances[k].id, c->orphans[i].instance_id) == 0);
        if (c->orphans[i].infra == infra && !alive)
            c->orphans[i].ended = true;
    }
}

// Without a listing, a restarted controller can decide nothing.
static void leave_unseen(struct rb_controller *c, const struct rb_err *err)
{
    struct rb_err why = {0};
    rb_err_set(&why, RB_E_LISTING_DENIED,
               "%s; what this run left cannot be seen, and may be there and billed: give back the permission to list, "
               "then run `rbrun resume %s` or `rbrun stop %s`",
               err->message, c->config.run_id, c->config.run_id);
    rb_controller_tell(c, RB_NOTICE_INSTANCES_LEFT, NULL, "%s", why.message);
    rb_controller_leave_run(c, &why);
}

static void note_failed(struct rb_controller *c, int infra, const struct rb_err *err)
{
    const bool ends = !rb_controller_running(c), waits = ends && !rb_controller_is_all_over(c);
    const int failures = c->clouds[infra].list_failures;
    const char *run = rb_controller_resume_name(c);
    char what[512];
    if (failures != 1 && failures % 20 != 0 && (!ends || (c->said & RB_SAID_END_WAITS)))
        return;
    c->said = (c->said & ~(unsigned)RB_SAID_END_WAITS) | (ends ? RB_SAID_END_WAITS : 0);
    snprintf(what, sizeof what, "%s cannot be listed%s%.300s", c->config.places[infra].infra, err ? ": " : " completely",
             err ? err->message : "");
    RB_AUTO(rb_buf_finish) struct rb_buf switches = RB_BUF_INIT;
    rb_controller_describe_switches(c, &switches);
    if (waits)
        rb_controller_note(
            c, "warning",
            "%s; the end of this run waits until it answers, because its instances may still be there and "
            "billed. Ctrl-C leaves: %s; `rbrun stop %s` ends what is left later",
            what, rb_buf_str(&switches), run);
    else
        rb_controller_note(c, "warning", "%s; trying again%s", what,
                           ends ? ", a few times: nothing is known to be left there" : "");
}

static void listing_failed(struct rb_controller *c, int infra, const struct rb_err *err)
{
    c->clouds[infra].list_failures++;
    note_failed(c, infra, err);
    if (c->phase == RB_PHASE_CLOSING)
        c->leak_tries++;
    if (c->phase == RB_PHASE_RECOVERING && err && err->code == RB_ERR_DENIED)
        leave_unseen(c, err);
    else if (c->phase == RB_PHASE_RECOVERING && !rb_controller_running(c) && rb_controller_is_all_over(c))
        rb_controller_repeat_orders(c); // there are none, so no listing has to come first
}

static void say_reconnected(struct rb_controller *c, int infra)
{
    if (c->said & RB_SAID_CUT_OFF)
        rb_controller_tell(c, RB_NOTICE_RECONNECTED, "warning", "%s answers again", c->config.places[infra].infra);
}

static void listed(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct rb_run_call *call = arg;
    struct rb_controller *c = call->c;
    const int infra = call->infra;
    if (c->dead || c->phase == RB_PHASE_OVER) {
        rb_run_call_end(call);
        return;
    }
    c->clouds[infra].listing = false;
    if (!err) {
        c->clouds[infra].heard_us = rb_attended_us(c->config.loop);
        say_reconnected(c, infra);
        c->said &= ~(unsigned)(RB_SAID_CUT_OFF | RB_SAID_END_WAITS);
    }
    for (int i = 0; !err && i < n && !c->dead; i++) {
        if (rb_controller_is_its_machine(c, instances[i].id))
            judge_machine(c, &instances[i]);
        else
            judge_instance(c, call, &instances[i]);
    }
    if (err || !complete) {
        listing_failed(c, infra, err);
    } else {
        if (c->clouds[infra].list_failures > 0)
            rb_run_cloud_is_back(&c->clouds[infra]);
        c->clouds[infra].list_failures = 0;
        judge_absences(c, infra, call);
        judge_orphans(c, infra, instances, n);
        c->clouds[infra].left = 0;
        for (int i = 0; i < n; i++)
            c->clouds[infra].left += instances[i].state != RB_INSTANCE_TERMINATED &&
                                     !rb_controller_is_its_machine(c, instances[i].id);
        c->clouds[infra].listed = call->number > c->believe_after;
    }
    rb_run_call_end(call);
    bool all = true;
    for (int i = 0; i < c->config.n_places; i++)
        all = all && c->clouds[i].listed;
    if (c->phase == RB_PHASE_RECOVERING && all && !c->dead)
        rb_controller_repeat_orders(c);
    rb_controller_check_over(c);
}

void rb_controller_list_all(struct rb_controller *c)
{
    for (int i = 0; i < c->config.n_places; i++) {
        if (c->clouds[i].listing)
            continue;
        c->clouds[i].listing = true;
        struct rb_run_call *call = rb_run_call_begin(c, RB_CALL_LIST, NULL, i);
        call->number = ++c->n_listings;
        c->config.places[i].provider->ops->list(c->config.places[i].provider, c->config.run_id, listed, call);
    }
}

// Changes come in crowds. Where listings are as frequent as that, as of a cloud on loopback, the next one is soon enough.
void rb_run_cloud_wake(void *arg)
{
    struct rb_run_cloud *cloud = arg;
    struct rb_controller *c = cloud->c;
    if (c->dead || c->phase == RB_PHASE_OVER || cloud->woken || c->config.poll_us <= WAKE_US)
        return;
    cloud->woken = true;
    rb_controller_arm(c, &c->poll_timer, WAKE_US, rb_controller_poll, c);
}

// A listing that is under way may be older than the change: another follows it. True: one does.
static bool is_to_follow(struct rb_controller *c)
{
    bool follows = false;
    for (int i = 0; i < c->config.n_places; i++) {
        c->clouds[i].woken &= c->clouds[i].listing;
        follows |= c->clouds[i].woken;
    }
    return follows;
}

void rb_controller_poll(void *arg)
{
    struct rb_controller *c = arg;
    c->poll_timer = 0;
    if (c->dead || c->phase == RB_PHASE_OVER)
        return;
    rb_controller_notice_gap(c);
    if (c->phase != RB_PHASE_RECOVERING && rb_controller_running(c) && !rb_controller_within_budget(c, 0))
        rb_controller_stop(c, RB_STOP_BUDGET);
    const bool follows = is_to_follow(c);
    rb_controller_list_all(c);
    rb_controller_arm(c, &c->poll_timer, follows ? WAKE_US : c->config.poll_us, rb_controller_poll, c);
}
