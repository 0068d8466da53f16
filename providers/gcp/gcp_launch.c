// Launches instances of Compute Engine, and tries every zone that may have room for them.
//
//   zone given ------------------------------------------+
//   zones that sell the type --> is it there already? ---+--> insert --> operation --> instances
//                                                        ^      |            |
//                                                        +------+------------+  no capacity: next zone
//
// The name of an instance is a function of token and zone, so an insert that is repeated, by this call or by a later
// process, finds what the first one created (the request id, then HTTP status 409). A zone is left only when it is
// certain that nothing is there: refused, or the operation failed. Any other error while we wait for the operation is
// no answer about the machine: the instance itself is looked up, and if even that fails the outcome is unknown. A gang
// uses bulkInsert in the same way, which creates all of it or ends what it created; a zone is left when nothing of it
// exists there. One call is under way at a time; whether it comes back or is dropped, the launch is freed exactly once.
#include "base/errors/log.h"
#include "base/text/units.h"
#include "providers/gcp/gcp_decode.h"
#include "providers/gcp/gcp_encode.h"
#include "providers/gcp/gcp_names.h"
#include "providers/gcp/gcp_verbs.h"
#include "providers/wire/digest.h"
#include "providers/wire/percent.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 5 };

static const int64_t wait_timeout_us = 130 * RB_US_PER_S;   // an operation's wait answers within two minutes
static const int64_t poll_pause_us = RB_US_PER_S;           // or at once, "best effort": then not in a tight loop
static const int64_t give_up_after_us = 1200 * RB_US_PER_S; // operations take a minute; the caller may ask again

struct launch {
    struct rb_arena arena;
    const struct rb_gcp *gcp;
    struct rb_launch what; // deep copy
    const char *launch_id;
    struct rb_gcp_zones zones; // to be tried in this order
    int at;

    // State of the attempt in the present zone.
    char name[RB_GCP_NAME_BYTES]; // of the instance, or of the gang
    const char **names;           // [count] of the instances
    int count;
    struct rb_gcp_operation operation;
    int64_t inserted_us;
    struct rb_err doubt; // why the instances themselves are looked up; code NONE: the operation succeeded
    bool over;           // the operation is: what is not there now never will be
    bool refused;        // it is, and the doubt is its answer
    struct rb_instance_page found;

    rb_launch_fn *fn;
    void *arg;
};

static void insert(struct launch *l);
static void look(struct launch *l, const struct rb_err *doubt, bool over);

static void destroy(void *arg)
{
    struct launch *l = arg;
    rb_launch_wipe(&l->what);
    rb_api_state_free(l);
}

static void finish(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    l->fn(l->arg, err, NULL);
    destroy(l);
}

static void succeed(struct launch *l, const struct rb_instance *instances)
{
    l->fn(l->arg, NULL, instances);
    destroy(l);
}

static const char *zone(const struct launch *l)
{
    return l->zones.zones[l->at];
}

static int64_t now_us(const struct launch *l)
{
    return l->gcp->loop->now_us(l->gcp->loop->ctx);
}

static struct rb_api_call new_call(struct launch *l, const char *name, rb_api_decode_fn *decode, rb_api_done_fn *done)
{
    struct rb_api_call call = rb_api_call_new(name, TRIES, l, decode, done);
    call.drop = destroy;
    return call;
}

static void send(struct launch *l, struct rb_api_call *call)
{
    rb_google_send(l->gcp->client, RB_GOOGLE_COMPUTE, call);
}

// Nothing of ours is in this zone, and nothing will be.
static void leave_zone(struct launch *l, const struct rb_err *err)
{
    struct rb_err last = *err;
    if (last.code != RB_ERR_CAPACITY || ++l->at == l->zones.n) {
        if (last.code == RB_ERR_CAPACITY && l->zones.n > 1)
            rb_err_prefix(&last, "none of the %d zones of gcp/%s has room; the last said", l->zones.n, l->gcp->region);
        finish(l, &last);
        return;
    }
    rb_trace("provider", "%s: %s; trying zone %s", l->what.instance_type, err->message, zone(l));
    insert(l);
}

static void unknown(struct launch *l, const struct rb_err *why)
{
    struct rb_err err = *why;
    rb_err_renumber(&err, RB_E_OUTCOME_UNKNOWN);
    rb_err_prefix(&err, "%s %s in %s", l->count > 1 ? "gang" : "instance", l->name, zone(l));
    finish(l, &err);
}

// --- the instances themselves ---

static bool any_ran(const struct rb_gcp_members *m)
{
    for (int i = 0; i < m->n; i++)
        if (m->instances[i].id && m->instances[i].running_at_us >= 0)
            return true;
    return false;
}

// What was made and ended was launched, and has a bill: no reason to make another one. Of a gang those that never came
// have ended too, then, because there was no machine for them.
static void report_ended(struct launch *l, const struct rb_gcp_members *m)
{
    for (int i = 0; i < m->n; i++)
        if (!m->instances[i].id)
            m->instances[i] = (struct rb_instance){.id = rb_gcp_instance_id(&l->arena, l->names[i], zone(l)),
                                                   .state = RB_INSTANCE_TERMINATED,
                                                   .zone = zone(l),
                                                   .region = l->gcp->region,
                                                   .market_unknown = true,
                                                   .member = i,
                                                   .running_at_us = -1,
                                                   .terminated_at_us = -1,
                                                   .sold_out = true};
    succeed(l, m->instances);
}

static void nothing_there(struct launch *l, const struct rb_gcp_members *m)
{
    struct rb_err refusal = l->doubt;
    if (m->n_ended == m->n || any_ran(m)) {
        report_ended(l, m);
    } else if (m->forgotten && refusal.code == RB_ERR_NONE) { // may not list operations: the bill is lost
        rb_err_set(&refusal, RB_E_CAPACITY, "instance %s in %s was made and is gone again", l->name, zone(l));
        leave_zone(l, &refusal);
    } else if (refusal.code == RB_ERR_NONE) {
        rb_err_set(&refusal, RB_E_OUTCOME_UNKNOWN,
                   "it was created and does not exist, and no operation shows that it ended");
        unknown(l, &refusal);
    } else {
        if (!l->refused)
            rb_err_renumber(&refusal, RB_E_CAPACITY);
        leave_zone(l, &refusal);
    }
}

// Some of a gang may be on its way in, or on its way out again: the cloud takes back what it could not complete.
static void looked(void *arg, const struct rb_err *err, const struct rb_gcp_members *m)
{
    struct launch *l = arg;
    struct rb_err some;
    if (err && err->code == RB_ERR_INVALID) {
        finish(l, err);
    } else if (err) {
        unknown(l, l->doubt.code && !l->over ? &l->doubt : err);
    } else if (m->n_there == 0) {
        nothing_there(l, m);
    } else if (m->n_there + m->n_ended == m->n) {
        succeed(l, m->instances);
    } else {
        rb_err_set(&some, RB_E_OUTCOME_UNKNOWN, "%d of %d machines are there%s%s", m->n_there, m->n,
                   l->doubt.code ? ": " : "", l->doubt.code ? l->doubt.message : "");
        unknown(l, &some);
    }
}

static void look(struct launch *l, const struct rb_err *doubt, bool over)
{
    l->doubt = doubt ? *doubt : (struct rb_err){0};
    l->over = over;
    const struct rb_gcp_members_question question = {
        .zone = zone(l), .launch_id = l->launch_id, .names = l->names, .n = l->count, .over = over};
    rb_gcp_members(l->gcp, &question, &l->arena, looked, destroy, l);
}

// --- the operation ---

static bool decode_operation(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct launch *l = arg;
    return rb_gcp_decode_operation(body, n, &l->arena, &l->operation, err);
}

static void operation_known(struct launch *l, int64_t pause_us);

// Poll errors are not insert errors: the machine may still be on its way.
static void waited(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    if (err)
        look(l, err, false);
    else
        operation_known(l, poll_pause_us);
}

static void wait_for_operation(struct launch *l, int64_t pause_us)
{
    struct rb_api_call call = new_call(l, "zoneOperations.wait", decode_operation, waited);
    call.method = "POST";
    rb_percent_put(&call.target, "/projects/%s/zones/%s/operations/%s/wait", l->gcp->project, zone(l),
                   l->operation.name);
    call.timeout_us = wait_timeout_us;
    call.delay_us = pause_us;
    send(l, &call);
}

static void operation_known(struct launch *l, int64_t pause_us)
{
    struct rb_err late;
    switch (l->operation.progress) {
    case RB_GCP_DONE:
        look(l, NULL, true);
        return;
    case RB_GCP_FAILED: // of a gang some may have been made, and be on their way out
        l->refused = true;
        if (l->count > 1)
            look(l, &l->operation.error, true);
        else
            leave_zone(l, &l->operation.error);
        return;
    case RB_GCP_UNSETTLED:
        look(l, &l->operation.error, true);
        return;
    case RB_GCP_UNDER_WAY:
        break;
    }
    if (now_us(l) - l->inserted_us < give_up_after_us) {
        wait_for_operation(l, pause_us);
        return;
    }
    rb_err_set(&late, RB_E_OUTCOME_UNKNOWN, "operation %s is still under way", l->operation.name);
    look(l, &late, false);
}

// --- the insert ---

static void inserted(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    struct rb_err nameless;
    if (!err) {
        operation_known(l, 0);
        return;
    }
    switch (err->code) {
    case RB_ERR_UNKNOWN_OUTCOME:
        look(l, err, false);
        return;
    case RB_ERR_NOT_FOUND: // of what the body names: image, network, machine type
        nameless = *err;
        rb_err_renumber(&nameless, RB_E_REFUSED);
        finish(l, &nameless);
        return;
    default:
        leave_zone(l, err);
    }
}

// The names that its machines have in the present zone.
static void name_machines(struct launch *l)
{
    rb_gcp_instance_name(l->what.token, zone(l), l->name);
    for (int i = 0; i < l->count; i++) {
        char name[RB_GCP_NAME_BYTES];
        rb_gcp_member_name(l->name, i, name);
        l->names[i] = rb_arena_strdup(&l->arena, l->count > 1 ? name : l->name);
    }
}

static void insert(struct launch *l)
{
    struct rb_err err;
    char request_id[RB_GCP_UUID_BYTES];
    const bool gang = l->count > 1;
    name_machines(l);
    rb_gcp_request_id(l->name, request_id);
    l->inserted_us = now_us(l);
    l->refused = false;
    struct rb_api_call call =
        new_call(l, gang ? "instances.bulkInsert" : "instances.insert", decode_operation, inserted);
    call.mutating = true;
    rb_percent_put(&call.target,
                   gang ? "/projects/%s/zones/%s/instances/bulkInsert?requestId=%s"
                        : "/projects/%s/zones/%s/instances?requestId=%s",
                   l->gcp->project, zone(l), request_id);
    if ((gang ? rb_gcp_encode_bulk_insert : rb_gcp_encode_insert)(&l->what, zone(l), l->name, &call.body, &err)) {
        send(l, &call);
        return;
    }
    call.done = finish;
    rb_google_refuse(l->gcp->client, &call, &err);
}

// --- which zone ---

static bool decode_found(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct launch *l = arg;
    return rb_gcp_decode_list(body, n, l->gcp->region, &l->arena, &l->found, err);
}

// An earlier call may have come further down the list of zones, and what it made there have ended since, which no list
// of instances shows: the operations do. Asked from the last zone on, so that the first that knows of one is where it
// came to; for a gang the first member decides, whose insert is an operation of its own.
static void ask_earlier(struct launch *l);

static void earlier_known(void *arg, const struct rb_err *err, const struct rb_instance *instance)
{
    struct launch *l = arg;
    if (err && err->code == RB_ERR_NOT_FOUND && l->at > 0) {
        l->at--;
        ask_earlier(l);
    } else if (err && (err->code == RB_ERR_NOT_FOUND || err->code == RB_ERR_DENIED)) { // or we may not read it
        l->at = 0;
        insert(l);
    } else if (err) {
        finish(l, err);
    } else if (instance->terminated_at_us >= 0 && l->count == 1) {
        succeed(l, instance);
    } else if (instance->terminated_at_us >= 0) {
        look(l, NULL, true); // what has become of the others?
    } else {
        insert(l); // the same words: the answer is what became of them
    }
}

static void ask_earlier(struct launch *l)
{
    name_machines(l);
    rb_gcp_look_back(l->gcp, rb_gcp_instance_id(&l->arena, l->names[0], zone(l)), earlier_known, destroy, l);
}

// The instance of this launch; NULL: the listing shows none.
static const struct rb_instance *first_found(const struct launch *l)
{
    for (int i = 0; i < l->found.n; i++)
        if (l->found.instances[i].launch_id && strcmp(l->found.instances[i].launch_id, l->launch_id) == 0)
            return &l->found.instances[i];
    return NULL;
}

static void stay_in_zone(struct launch *l, const char *zone)
{
    l->zones = (struct rb_gcp_zones){.zones = rb_arena_array(&l->arena, 1, sizeof *l->zones.zones), .n = 1};
    l->zones.zones[0] = zone;
    name_machines(l);
}

// An earlier call with this token, perhaps of a process that died, may have come further down the list of zones. Of a
// gang that a listing shows the rest may not be in listings yet, or may have ended: all of it is asked for by name.
static void found(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    struct rb_err partial;
    const struct rb_instance *instance = err ? NULL : first_found(l);
    if (instance && l->count == 1) {
        succeed(l, instance);
    } else if (instance) {
        stay_in_zone(l, instance->zone);
        look(l, NULL, true);
    } else if (err) {
        finish(l, err);
    } else if (!l->found.complete || (l->what.again && !l->zones.complete)) {
        rb_err_set(&partial, RB_E_GCP_ZONES,
                   "gcp/%s: a zone does not answer, and this launch may be in it already; name a zone in "
                   "resources.infra to do without",
                   l->gcp->region);
        finish(l, &partial);
    } else if (l->what.again) {
        l->at = l->zones.n - 1;
        ask_earlier(l);
    } else {
        insert(l);
    }
}

static void find(struct launch *l)
{
    struct rb_api_call call = new_call(l, "instances.aggregatedList", decode_found, found);
    rb_gcp_target_list(l->gcp->project, RB_TAG_LAUNCH, l->launch_id, NULL, &call.target);
    send(l, &call);
}

// The same order for all launches of a run, so that its nodes come together in one zone while there is room; another
// one for another run, so that not all begin in the same.
static void rotate_zones(struct launch *l, const char *key)
{
    char digest[65];
    rb_digest_sha256(key, strlen(key), digest);
    const size_t first = strtoul(digest + 56, NULL, 16) % (size_t)l->zones.n;
    const char **zones = rb_arena_array(&l->arena, (size_t)l->zones.n, sizeof *zones);
    for (int i = 0; i < l->zones.n; i++)
        zones[i] = l->zones.zones[((size_t)i + first) % (size_t)l->zones.n];
    l->zones.zones = zones;
}

static bool decode_sold(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct launch *l = arg;
    return rb_gcp_decode_sold(body, n, l->gcp->region, &l->arena, &l->zones, err);
}

static void zones_known(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    struct rb_err nowhere;
    if (err) {
        finish(l, err);
    } else if (l->zones.n > 0) {
        const char *run_id = l->what.tags.run_id;
        rotate_zones(l, run_id ? run_id : l->what.token);
        find(l);
    } else {
        rb_err_set(&nowhere, l->zones.complete ? RB_E_GCP_NO_ZONE : RB_E_GCP_ZONES, "gcp/%s: %s", l->gcp->region,
                   l->zones.complete ? "no zone sells this machine type; choose another resources.instance_types"
                                     : "its zones do not answer");
        finish(l, &nowhere);
    }
}

static void ask_zones(struct launch *l)
{
    struct rb_gcp_machine_type type;
    struct rb_api_call call = new_call(l, "machineTypes.aggregatedList", decode_sold, zones_known);
    rb_gcp_machine_type_parse(l->what.instance_type, &type, NULL); // it was checked
    rb_gcp_target_sold(l->gcp->project, &type, &call.target);
    send(l, &call);
}

static bool check(const struct launch *l, struct rb_err *err)
{
    if (!l->launch_id)
        return rb_err_set(err, RB_E_LAUNCH, "gcp/%s: expected a tag rb:launch-id, by which the instance is known again",
                          l->gcp->region);
    return rb_gcp_check_launch(&l->what, l->gcp->region, err);
}

void rb_gcp_launch(struct rb_provider *p, const struct rb_launch *what, rb_launch_fn *fn, void *arg)
{
    struct launch *l = rb_api_state_create(sizeof *l);
    struct rb_err err;
    l->gcp = p->state;
    rb_launch_copy(&l->arena, what, &l->what);
    l->launch_id = l->what.tags.launch_id;
    l->count = rb_launch_count(&l->what);
    l->names = rb_arena_array(&l->arena, (size_t)l->count, sizeof *l->names);
    l->fn = fn;
    l->arg = arg;
    if (!check(l, &err)) {
        struct rb_api_call call = new_call(l, "instances.insert", NULL, finish);
        rb_google_refuse(l->gcp->client, &call, &err);
    } else if (l->what.zone) {
        l->zones.zones = rb_arena_array(&l->arena, 1, sizeof *l->zones.zones);
        l->zones.zones[l->zones.n++] = l->what.zone;
        insert(l);
    } else {
        ask_zones(l);
    }
}
