// Launches: the intent is on disk before a byte goes out, and the instances' names before anything else is done. A request
// that was not answered is repeated unchanged; its outcome is never guessed.
#include "executor/controller/controller_private.h"

#include "base/backoff.h"
#include "base/file.h"
#include "base/limits.h"
#include "executor/controller/placement_group.h"
#include "executor/launcher/launch_log.h"
#include "profiles/catalog/infra.h"
#include "profiles/job/job_image.h"
#include "providers/wire/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void user_data_path(const struct rb_run_gang *g, struct rb_buf *out)
{
    rb_buf_printf(out, "%s/keys/%s.user-data", g->c->config.run_dir, g->members[0]->row.launch_id);
}

static const char *image_of(const struct rb_run_node *n)
{
    return rb_image_for(n->c->config.plan->images, n->c->config.plan->n_images, n->row.infra);
}

// NULL: the node may be placed anywhere.
static const char *group_of(const struct rb_run_node *n, char name[static RB_PLACEMENT_GROUP_BYTES])
{
    const struct rb_controller_config *config = &n->c->config;
    return rb_placement_group(config->plan, config->run_id, n->row.infra, n->row.instance_type, name) ? name : NULL;
}

// Token: digest of everything that identifies the request, with 128 random bits in the launch id.
static void make_token(struct rb_run_gang *g, const char *user_data)
{
    const struct rb_run_node *n = g->members[0];
    RB_AUTO(rb_buf_finish) struct rb_buf params = RB_BUF_INIT, all = RB_BUF_INIT;
    const char *image = image_of(n);
    char digest[65], name[RB_PLACEMENT_GROUP_BYTES];
    const char *group = group_of(n, name);
    rb_buf_printf(&params, "%s|%s|%s|%" PRId64 "|%s", n->row.instance_type, n->row.market, image ? image : "",
                  n->c->config.plan->job->resources.disk_bytes, user_data);
    if (group)
        rb_buf_printf(&params, "|%s", group);
    const struct rb_reservation *reservation = n->c->config.plan->offers[n->row.offer].reservation;
    if (reservation)
        rb_buf_printf(&params, "|%s", reservation->id);
    if (g->n > 1)
        rb_buf_printf(&params, "|%d", g->n);
    rb_digest_sha256(rb_buf_str(&params), params.len, digest);
    rb_buf_printf(&all, "%s|%s|%d|%s|%s", n->c->config.run_id, n->row.launch_id, n->row.attempt, n->row.infra, digest);
    for (int i = 0; i < g->n; i++)
        rb_digest_sha256(rb_buf_str(&all), all.len, g->members[i]->row.token);
}

// Mode 0600, and not in the journal: it holds the nodes' private host key until the launch was answered.
static bool keep_user_data(const struct rb_run_gang *g, const struct rb_buf *user_data, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    user_data_path(g, &path);
    const int fd = open(rb_buf_str(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    const bool ok =
        fd >= 0 && write(fd, rb_buf_str(user_data), user_data->len) == (ssize_t)user_data->len && fsync(fd) == 0;
    if (!ok)
        rb_err_set(err, RB_E_FILE_WRITE, "cannot keep %s, which a node is launched with: %s", rb_buf_str(&path),
                   strerror(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

void rb_run_gang_drop_user_data(const struct rb_run_gang *g)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    user_data_path(g, &path);
    unlink(rb_buf_str(&path)); // absent where nodes have no user data
}

static void fill_row(struct rb_run_node *n, const struct rb_action *a, int chosen)
{
    const struct rb_offer *offer = &n->c->config.plan->offers[chosen];
    n->row = (struct rb_launch_row){
        .node = a->node,
        .attempt = a->attempt,
        .offer = chosen,
        .state = RB_LAUNCH_INTENT,
        .running_us = -1,
        .ready_us = -1,
        .terminate_us = -1,
        .gone_us = -1,
        .running_unix_us = -1,
        .terminated_unix_us = -1,
        .reserved_uusd = rb_bill_least_uusd(&n->billing),
    };
    snprintf(n->row.infra, sizeof n->row.infra, "%s", offer->infra);
    snprintf(n->row.instance_type, sizeof n->row.instance_type, "%s", offer->instance_type);
    snprintf(n->row.market, sizeof n->row.market, "%s", rb_market_name(offer->market));
    n->tries = n->absent = n->denied_looks = 0;
    n->pull_us = 0;
    n->held_us = -1;
    n->end_dated = false;
    n->said &= ~(unsigned)RB_SAID_OTHER_MARKET;
    n->absent_since_us = n->acked_us = n->waited_us = -1;
}

// One launch id and one time for all rows, so that the request is the same from whichever row it is made.
static struct rb_run_gang *fill_gang(struct rb_controller *c, const struct rb_action *const *orders, int n, int offer,
                                     const struct rb_billing *billing)
{
    struct rb_run_gang *g = rb_run_gang_create(c, n);
    const int64_t now_us = rb_controller_now_us(c);
    char launch_id[sizeof g->members[0]->row.launch_id];
    uint8_t bytes[16];
    rb_random_bytes(bytes, sizeof bytes);
    rb_digest_hex(bytes, sizeof bytes, launch_id);
    for (int i = 0; i < n; i++) {
        struct rb_run_node *node = rb_run_node_at(c, orders[i]->node);
        node->billing = *billing;
        fill_row(node, orders[i], offer);
        node->row.intent_us = now_us;
        strcpy(node->row.launch_id, launch_id);
        node->gang = g;
        node->member = i;
        g->members[i] = node;
    }
    return g;
}

// Creates the gang's user data and host key, which its members share.
static bool make_user_data(struct rb_run_gang *g, struct rb_err *err)
{
    const struct rb_controller_config *config = &g->c->config;
    RB_AUTO(rb_buf_finish) struct rb_buf user_data = RB_BUF_INIT;
    char host_key[sizeof g->members[0]->row.host_key] = "";
    const struct rb_run_place *place = rb_run_node_place(g->members[0]);
    const bool made = !place->gives_birth || (config->birth(config->birth_ctx, place, &user_data, host_key, err) &&
                                              keep_user_data(g, &user_data, err));
    for (int i = 0; i < g->n; i++)
        strcpy(g->members[i]->row.host_key, host_key);
    make_token(g, rb_buf_str(&user_data));
    if (user_data.len)
        explicit_bzero(user_data.data, user_data.len);
    return made;
}

// The last listing of an earlier controller, which closed the run, is out of date.
static bool forget_leak_check(struct rb_controller *c)
{
    struct rb_err err;
    if (c->meta.leak_checked_at_us < 0)
        return true;
    c->meta.leak_checked_at_us = -1;
    return rb_controller_wrote(c, rb_journal_leak_check(c->journal, -1, -1, &err), &err);
}

bool rb_run_gang_record(struct rb_controller *c, const struct rb_action *const *orders, int n)
{
    struct rb_err err = {0};
    struct rb_billing billing;
    for (int i = 0; i < n; i++)
        if (rb_run_node_has_row(rb_run_node_at(c, orders[i]->node)))
            rb_run_node_supersede(rb_run_node_at(c, orders[i]->node));
    const int offer = rb_run_node_choose_offer(rb_run_node_at(c, orders[0]->node), n);
    if (!rb_spend_billing(c->config.plan, offer, &billing, &err)) {
        rb_controller_fail_run(c, &err);
        return false;
    }
    if (!rb_controller_within_budget(c, n * rb_bill_least_uusd(&billing))) {
        c->stop_wanted = true;
        c->stop_reason = RB_STOP_BUDGET;
        return false;
    }
    if (c->config.permit && !c->config.permit(c->config.permit_ctx, rb_controller_now_us(c), &err)) {
        rb_controller_fail_run(c, &err);
        return false;
    }
    struct rb_run_gang *g = fill_gang(c, orders, n, offer, &billing);
    rb_run_gang_note_stand_in(g);
    if (!make_user_data(g, &err)) {
        rb_run_gang_discard(g);
        rb_controller_fail_run(c, &err);
        return false;
    }
    bool written = true;
    for (int i = 0; i < n && written; i++) {
        written = rb_run_node_write(g->members[i]);
        g->members[i]->role = written ? RB_NODE_CURRENT : RB_NODE_UNLAUNCHED;
    }
    return written && forget_leak_check(c);
}

static void retry_launch(void *arg)
{
    struct rb_run_gang *g = arg;
    g->timer = 0;
    if (rb_run_gang_find(g, rb_run_node_is_undecided))
        rb_run_gang_send(g);
}

// Until then a request without an answer may still arrive. 0: all were answered.
static int64_t late_until(const struct rb_run_gang *g)
{
    return g->unanswered_us < 0 ? 0 : g->unanswered_us + RB_CONTROLLER_LATE_S * RB_US_PER_S;
}

void rb_run_gang_await_copies(const struct rb_run_gang *g)
{
    if (rb_run_node_provider(g->members[0])->ops->is_in_process)
        return;
    const int64_t copies_us = rb_controller_now_us(g->c) + RB_CONTROLLER_COPY_S * RB_US_PER_S;
    const int64_t until_us = late_until(g) > copies_us ? late_until(g) : copies_us;
    if (until_us > g->c->linger_until_us)
        g->c->linger_until_us = until_us;
}

static void not_launched(struct rb_run_gang *g, const struct rb_err *err)
{
    struct rb_controller *c = g->c;
    const struct rb_launch_row *row = &rb_run_gang_find(g, rb_run_node_is_undecided)->row;
    const int offer = row->offer;
    const bool sent = row->state != RB_LAUNCH_INTENT;
    if (err->code == RB_ERR_CAPACITY)
        rb_controller_mark_sold_out(c, offer, rb_controller_now_us(c));
    if (rb_run_gang_find(g,
                         rb_run_node_exists)) { // a listing showed some of what the cloud now denies to have launched
        rb_run_gang_break(g, err->message);
        return;
    }
    if (sent)
        rb_run_gang_await_copies(g);
    if (!rb_run_gang_enter(g, RB_LAUNCH_REFUSED))
        return;
    rb_run_gang_drop_user_data(g);
    rb_run_gang_note(g, "fault", "%s refused %s: %s", g->members[0]->row.infra, g->members[0]->row.instance_type,
                     err->message);
    if (err->code == RB_ERR_CAPACITY)
        rb_run_gang_refused(g);
    else if (err->code != RB_ERR_IO && rb_run_gang_is_stand_in(g))
        rb_run_gang_reject_offer(g, err);
    else if (rb_run_gang_find(g, rb_run_node_is_wanted))
        rb_controller_fail_run(c, err);
}

// Only UNKNOWN_OUTCOME leaves a doubt about a call (providers/provider.h). If no earlier call left one either, nothing of
// this launch exists or is on its way.
static bool never_sent(const struct rb_run_gang *g, const struct rb_err *err)
{
    return err->code != RB_ERR_UNKNOWN_OUTCOME && g->unanswered_us < 0 &&
           rb_run_gang_find(g, rb_run_node_is_undecided)->row.state == RB_LAUNCH_SENT;
}

// A network that is down may come back. A cloud that answers "not found" rarely changes its answer.
static bool unsent_for_too_long(struct rb_run_gang *g, const struct rb_err *err)
{
    const int64_t now_us = rb_controller_now_us(g->c);
    if (g->tries == 0)
        g->unsent_us = now_us;
    return now_us - g->unsent_us >=
           (err->code == RB_ERR_NOT_FOUND ? RB_CONTROLLER_NOT_FOUND_S : RB_CONTROLLER_END_S) * RB_US_PER_S;
}

// The launch becomes an intent again. Members that are no longer wanted end as intents.
static void not_sent(struct rb_run_gang *g, const struct rb_err *err)
{
    struct rb_controller *c = g->c;
    if (!rb_run_gang_enter(g, RB_LAUNCH_INTENT))
        return;
    if (unsent_for_too_long(g, err)) {
        not_launched(g, err);
        return;
    }
    if (g->tries == 0)
        rb_run_gang_note(g, "warning", "%s launch was not sent (%s); trying again", g->n > 1 ? "their" : "its",
                         err->message);
    for (int i = 0; i < g->n && !c->dead; i++)
        if (!rb_run_node_is_wanted(g->members[i]))
            rb_run_node_record_end(c, g->members[i]);
    rb_controller_arm(c, &g->timer, rb_backoff_us(g->tries++), retry_launch, g);
}

// The outcome is unknown: sends the identical request again later, unless a listing shows the instances first.
static void unanswered(struct rb_run_gang *g, const struct rb_err *err)
{
    if (rb_run_gang_find(g, rb_run_node_is_undecided)->row.state != RB_LAUNCH_AMBIGUOUS) {
        if (!rb_run_gang_enter(g, RB_LAUNCH_AMBIGUOUS))
            return;
        rb_run_gang_note(g, "warning", "%s launch is undecided (%s); asking again with the same token",
                         g->n > 1 ? "their" : "its", err->message);
    }
    if (err->code != RB_ERR_CAPACITY && err->code != RB_ERR_THROTTLED &&
        err->code != RB_ERR_DENIED) // these are answers
        g->unanswered_us = rb_controller_now_us(g->c);
    rb_controller_arm(g->c, &g->timer, rb_backoff_us(g->tries++), retry_launch, g);
}

// Is it certain that nothing was launched, and that nothing will be? While an earlier request may still arrive, only
// the same token is safe after a refusal: two requests with it can never launch twice. A denial shows nothing about an
// earlier request without an answer: its instance may exist and be billed. Most denials pass (a wrong clock is
// corrected, keys are renewed), but the wait for that is limited.
static bool is_final(struct rb_run_gang *g, const struct rb_err *err)
{
    if (err->code == RB_ERR_CAPACITY)
        return !rb_run_gang_find(g, rb_run_node_is_wanted) || rb_controller_now_us(g->c) >= late_until(g);
    if (err->code == RB_ERR_DENIED)
        return g->unanswered_us < 0 || ++g->denials >= RB_CONTROLLER_DENIALS;
    return err->code == RB_ERR_INVALID || err->code == RB_ERR_PRICE;
}

static void acknowledge_gang(struct rb_run_gang *g, const struct rb_instance *instances);

static void launch_answered(void *arg, const struct rb_err *err, const struct rb_instance *instances)
{
    struct rb_run_call *call = arg;
    struct rb_controller *c = call->c;
    struct rb_run_gang *g = call->gang;
    rb_run_call_end(call);
    if (c->dead) {
        rb_run_gang_rescue(g, err, instances);
        return;
    }
    const bool open = rb_run_gang_find(g, rb_run_node_is_undecided) != NULL; // else a listing was faster
    if (!err)
        acknowledge_gang(g, instances);
    else if (open && is_final(g, err))
        not_launched(g, err);
    else if (open && never_sent(g, err))
        not_sent(g, err);
    else if (open)
        unanswered(g, err);
    rb_controller_check_over(c);
}

// Heartbeats do not extend the cloud's own limit, so it lies after everything that is planned: it bounds the cost of a
// node whose controller never comes back. It is the same in every repetition of the request.
static int64_t max_lifetime_s(const struct rb_run_node *n)
{
    const int64_t deadline_us = n->c->meta.deadline_us;
    if (deadline_us < 0)
        return RB_CONTROLLER_MAX_LIFETIME_S;
    const int64_t left_us = deadline_us > n->row.intent_us ? deadline_us - n->row.intent_us : 0;
    return left_us / RB_US_PER_S + RB_CONTROLLER_END_SLACK_S;
}

// "rb-JOB-3", or for a gang "rb-JOB-3-4": a launch has one name for all its instances.
static void write_name(const struct rb_run_gang *g, struct rb_buf *out)
{
    rb_buf_printf(out, "rb-%s", g->c->config.plan->job->name);
    for (int i = 0; i < g->n && out->len < RB_CONTROLLER_NAME; i++)
        rb_buf_printf(out, "-%d", g->members[i]->id);
}

// From an undecided member's row, which has not changed since it was written.
static void request_launch(struct rb_run_gang *g, const char *user_data, bool again)
{
    const struct rb_run_node *n = rb_run_gang_find(g, rb_run_node_is_undecided);
    struct rb_controller *c = g->c;
    const struct rb_resources *resources = &c->config.plan->job->resources;
    const struct rb_infra_place place = rb_infra_place(n->row.infra);
    char expires[32], group[RB_PLACEMENT_GROUP_BYTES];
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    write_name(g, &name);
    rb_lease_format(rb_run_node_lease_us(n), expires);
    struct rb_launch launch = {
        .token = n->row.token,
        .again = again,
        .region = place.region,
        .zone = place.zone[0] ? place.zone : NULL,
        .instance_type = n->row.instance_type,
        .gpus = rb_run_node_gpus_on(&c->config.plan->offers[n->row.offer]),
        .market = c->config.plan->offers[n->row.offer].market,
        .reservation = c->config.plan->offers[n->row.offer].reservation,
        .count = g->n,
        .image_id = image_of(n),
        .user_data = user_data,
        .disk_gb = n->billing.disk_gb,
        .max_lifetime_s = max_lifetime_s(n),
        .tags = {.name = rb_buf_str(&name),
                 .run_id = c->config.run_id,
                 .launch_id = n->row.launch_id,
                 .owner = c->meta.owner,
                 .expires_at = expires},
        .placement_group = group_of(n, group),
    };
    rb_launch_take(&launch, resources);
    struct rb_run_call *call = rb_run_call_begin(c, RB_CALL_LAUNCH, NULL, rb_controller_infra_of(c, n->row.infra));
    call->gang = g;
    struct rb_provider *p = rb_run_node_provider(n);
    p->ops->launch(p, &launch, launch_answered, call);
}

static bool is_whole(const struct rb_run_gang *g)
{
    for (int i = 0; i < g->n; i++)
        if (!rb_run_node_is_undecided(g->members[i]))
            return false;
    return true;
}

// SENT could not be journalled, so nothing was sent: there is no outcome to wait for.
static void undo_sending(struct rb_run_gang *g)
{
    for (int i = 0; i < g->n; i++)
        if (g->members[i]->row.state == RB_LAUNCH_SENT)
            rb_run_node_enter(g->members[i], RB_LAUNCH_INTENT);
}

// The log beside the journal shows whether the journal is whole. Launches inside this process need no log.
static bool log_launch(struct rb_run_gang *g)
{
    const struct rb_run_node *n = rb_run_gang_find(g, rb_run_node_is_undecided);
    struct rb_err err;
    if (g->logged || rb_run_node_provider(n)->ops->is_in_process)
        return true;
    g->logged = rb_launch_log_add(g->c->config.run_dir, n->row.launch_id, n->row.infra,
                                  !rb_journal_is_relaxed(g->c->journal), &err);
    return rb_controller_wrote(g->c, g->logged, &err);
}

void rb_run_gang_send(struct rb_run_gang *g)
{
    struct rb_controller *c = g->c;
    if (c->dead || rb_run_gang_is_called(g))
        return;
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *user_data = NULL;
    size_t len = 0;
    struct rb_err err;
    const bool sent = rb_run_gang_find(g, rb_run_node_is_undecided)->row.state != RB_LAUNCH_INTENT;
    if (!sent && !is_whole(g)) {
        rb_run_gang_break(g, "not all of it is wanted now");
        return;
    }
    user_data_path(g, &path);
    if (rb_run_node_place(g->members[0])->gives_birth &&
        !rb_read_file(rb_buf_str(&path), RB_LIMIT_USER_DATA, &user_data, &len, &err)) {
        // Without the user data the request cannot be repeated. For an INTENT nothing was sent; otherwise listings find
        // the instances.
        if (sent)
            unanswered(g, &err);
        else
            not_launched(g, &err);
        return;
    }
    if (sent || (log_launch(g) && rb_run_gang_enter(g, RB_LAUNCH_SENT)))
        request_launch(g, user_data, sent);
    else
        undo_sending(g);
    if (user_data)
        explicit_bzero(user_data, len);
}

// The instance exists: its name goes to disk before anything else happens. False: the journal failed.
static bool record_acknowledged(struct rb_run_node *n, const struct rb_instance *instance)
{
    if (n->row.state == RB_LAUNCH_REFUSED)
        rb_controller_note(n->c, "fault", "node %d: a copy of its refused launch arrived after all: %s%s", n->id,
                           instance->id, rb_run_node_is_wanted(n) ? "" : " is ended");
    if (n->row.state == RB_LAUNCH_INTENT)
        rb_run_node_enter(n, RB_LAUNCH_SENT); // it was, after all
    rb_run_node_enter(n, RB_LAUNCH_ACKED);
    snprintf(n->row.instance_id, sizeof n->row.instance_id, "%s", instance->id);
    rb_run_node_copy_addresses(n, instance);
    return rb_run_node_is_wanted(n) ? rb_run_node_write(n) : rb_run_node_record_end(n->c, n);
}

static void begin_life(struct rb_run_node *n, const struct rb_instance *instance)
{
    struct rb_controller *c = n->c;
    n->acked_us = rb_controller_now_us(c);
    rb_run_node_lease(n);
    n->tries = n->absent = 0;
    if (n->gang && !rb_run_gang_find(n->gang, rb_run_node_is_undecided)) { // that was the last undecided member
        rb_controller_disarm(c, &n->gang->timer);
        rb_run_gang_drop_user_data(n->gang);
    }
    if (rb_run_node_is_wanted(n))
        rb_run_node_await_ready(n);
    else
        rb_run_node_terminate(n);
    rb_run_node_observe(n, instance);
}

void rb_run_node_acknowledge(struct rb_run_node *n, const struct rb_instance *instance)
{
    if (record_acknowledged(n, instance))
        begin_life(n, instance);
}

// Was no member of the gang seen before, and have some ended: preempted, or without a machine after all?
static bool is_incomplete(const struct rb_run_gang *g, const bool *takes, const struct rb_instance *instances)
{
    bool ended = false;
    for (int i = 0; i < g->n; i++) {
        if (!takes[i])
            return false;
        ended = ended || instances[i].state == RB_INSTANCE_TERMINATED;
    }
    return ended && g->n > 1;
}

// Ends all of it, so that all of it is launched again together.
static void give_back(struct rb_run_gang *g, const struct rb_instance *instances)
{
    for (int i = 0; i < g->n; i++)
        if (instances[i].sold_out)
            rb_controller_mark_sold_out(g->c, g->members[i]->row.offer, rb_controller_now_us(g->c));
    rb_run_gang_break(g, "some of it had ended before its launch was answered");
}

// Acknowledges all members at once. A listing may have been faster for a member, and may have shown another instance.
static void acknowledge_gang(struct rb_run_gang *g, const struct rb_instance *instances)
{
    struct rb_controller *c = g->c;
    bool *takes = rb_xcalloc((size_t)g->n, sizeof *takes);
    bool ok = rb_controller_begin(c);
    for (int i = 0; i < g->n && ok; i++) {
        takes[i] = rb_run_node_is_undecided(g->members[i]);
        ok = !takes[i] || record_acknowledged(g->members[i], &instances[i]);
    }
    ok = ok && rb_controller_commit(c);
    if (ok && is_incomplete(g, takes, instances))
        give_back(g, instances);
    for (int i = 0; i < g->n && ok && !c->dead; i++) {
        if (takes[i])
            begin_life(g->members[i], &instances[i]);
        else if (strcmp(instances[i].id, g->members[i]->row.instance_id) != 0)
            rb_run_node_adopt_stray(g->members[i], &instances[i]);
    }
    free(takes);
}

static int lowest_attempt(const struct rb_controller *c, int node)
{
    int lowest = 0;
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        const struct rb_run_node *n = rb_controller_launch_at(c, i);
        if (rb_run_node_has_row(n) && n->id == node && n->row.attempt < lowest)
            lowest = n->row.attempt;
    }
    return lowest;
}

void rb_run_node_adopt_stray(struct rb_run_node *n, const struct rb_instance *instance)
{
    struct rb_controller *c = n->c;
    struct rb_launch_row row = n->row;
    for (int i = 0; i < rb_controller_n_launches(c); i++)
        if (strcmp(rb_controller_launch_at(c, i)->row.instance_id, instance->id) == 0)
            return; // listed before, and known by now
    const bool second = n->row.instance_id[0];
    rb_controller_note(c, "fault", "node %d: %s %s; ending it", n->id,
                       second ? "its launch made a second instance," : "its gang was given up, and there comes",
                       instance->id);
    row.attempt = lowest_attempt(c, n->id) - 1;
    row.state = RB_LAUNCH_SENT;
    row.token[0] = row.instance_id[0] = row.address[0] = row.private_address[0] = '\0';
    row.running_us = row.ready_us = row.terminate_us = row.gone_us = -1;
    row.running_unix_us = row.terminated_unix_us = -1;
    row.cost_uusd = 0;
    row.market_infra[0] = '\0';
    row.prices = (struct rb_price_path){0};
    rb_run_node_acknowledge(rb_controller_add_launch(c, &row, &n->billing), instance);
}
