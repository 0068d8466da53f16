// Compute Engine replaces all labels of an instance at once, and only for whoever names the fingerprint of those that are
// there: each instance is read and written, two requests. A listing would show the fingerprints of all at once, but one that
// lags, and each of them costs a third request. Who changes labels meanwhile makes us read again. A few instances are
// under way at a time.
#include "providers/gcp/gcp_lease.h"

#include "providers/gcp/gcp_decode.h"
#include "providers/gcp/gcp_encode.h"
#include "providers/gcp/gcp_names.h"

#include <stdlib.h>

enum { TRIES = 5, WIDTH = 8, CONFLICTS = 5 };

struct renewal {
    struct rb_google_client *client;
    struct rb_arena arena;
    const char **ids;
    int n, next; // next: not begun yet
    struct rb_tag lease;
    int n_lanes;       // under way
    struct rb_err err; // of the instance that failed first; code NONE: none did
    rb_terminate_fn *fn;
    void *arg;
};

// One instance after the other.
struct lane {
    struct renewal *of;
    struct rb_arena arena; // of the present instance
    const char *name, *zone;
    struct rb_gcp_labelled labels;
    struct rb_gcp_operation operation;
    int conflicts; // how often others were faster
};

static void renewal_destroy(struct renewal *r)
{
    rb_arena_finish(&r->arena);
    free(r);
}

static void lane_destroy(struct lane *l)
{
    rb_arena_finish(&l->arena);
    free(l);
}

static void dropped(void *arg)
{
    struct lane *l = arg;
    struct renewal *r = l->of;
    lane_destroy(l);
    if (--r->n_lanes == 0)
        renewal_destroy(r);
}

static void send(struct lane *l, struct rb_api_call *call)
{
    call->max_tries = TRIES;
    call->arg = l;
    call->drop = dropped;
    rb_google_send(l->of->client, RB_GOOGLE_COMPUTE, call);
}

static void begin_next(struct lane *l);
static void ask_labels(struct lane *l);

static void settle(struct lane *l, const struct rb_err *err)
{
    struct renewal *r = l->of;
    if (err && err->code != RB_ERR_NOT_FOUND && r->err.code == RB_ERR_NONE) {
        r->err = *err;
        if (err->code == RB_ERR_DENIED)
            rb_err_set(&r->err, RB_E_PERMISSION, "%s; allow compute.instances.setLabels (docs/policies/gcp-role.yaml)",
                       err->message);
    }
    if (err && err->code == RB_ERR_DENIED)
        r->next = r->n; // the others would say the same
    begin_next(l);
}

// --- write

static bool decode_operation(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct lane *l = arg;
    return rb_gcp_decode_operation(body, n, &l->arena, &l->operation, err);
}

static void labels_set(void *arg, const struct rb_err *err)
{
    struct lane *l = arg;
    const bool failed = !err && (l->operation.progress == RB_GCP_FAILED || l->operation.progress == RB_GCP_UNSETTLED);
    if (failed)
        err = &l->operation.error;
    if (err && rb_err_number(err) == RB_E_CLOUD_STATE && ++l->conflicts < CONFLICTS)
        ask_labels(l);
    else
        settle(l, err);
}

static void set_labels(struct lane *l)
{
    struct rb_err err;
    struct rb_api_call call = {
        .name = "instances.setLabels", .method = "POST", .decode = decode_operation, .done = labels_set};
    rb_gcp_target_labels(rb_google_client_project(l->of->client), l->zone, l->name, &call.target);
    if (rb_gcp_encode_labels(&l->labels, &l->of->lease, &call.body, &err)) {
        send(l, &call);
        return;
    }
    rb_buf_finish(&call.target);
    rb_buf_finish(&call.body);
    settle(l, &err);
}

// --- read

static bool decode_labels(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct lane *l = arg;
    return rb_gcp_decode_labels(body, n, &l->arena, &l->labels, err);
}

static void labels_known(void *arg, const struct rb_err *err)
{
    struct lane *l = arg;
    if (err)
        settle(l, err);
    else
        set_labels(l);
}

static void ask_labels(struct lane *l)
{
    struct rb_api_call call = {.name = "instances.get", .method = "GET", .decode = decode_labels, .done = labels_known};
    rb_gcp_target_labelled(rb_google_client_project(l->of->client), l->zone, l->name, &call.target);
    send(l, &call);
}

// --- one after the other

static void begin_next(struct lane *l)
{
    struct renewal *r = l->of;
    rb_arena_finish(&l->arena);
    rb_arena_init(&l->arena);
    l->conflicts = 0;
    while (r->next < r->n)
        if (rb_gcp_instance_id_split(r->ids[r->next++], &l->arena, &l->name, &l->zone)) {
            ask_labels(l);
            return;
        } // one that is no id of Compute Engine is not there
    lane_destroy(l);
    if (--r->n_lanes > 0)
        return;
    r->fn(r->arg, r->err.code ? &r->err : NULL);
    renewal_destroy(r);
}

void rb_gcp_renew(struct rb_google_client *client, const char *const *ids, int n, const struct rb_tag *lease,
                  rb_terminate_fn *fn, void *arg)
{
    struct renewal *r = rb_xcalloc(1, sizeof *r);
    *r = (struct renewal){.client = client, .n = n, .fn = fn, .arg = arg};
    r->ids = rb_arena_array(&r->arena, (size_t)n, sizeof *r->ids);
    for (int i = 0; i < n; i++)
        r->ids[i] = rb_arena_strdup(&r->arena, ids[i]);
    r->lease = (struct rb_tag){rb_arena_strdup(&r->arena, lease->key), rb_arena_strdup(&r->arena, lease->value)};
    const int width = n < WIDTH ? n : WIDTH;
    r->n_lanes = width;
    for (int i = 0; i < width; i++) {
        struct lane *l = rb_xcalloc(1, sizeof *l);
        l->of = r;
        begin_next(l);
    }
}
