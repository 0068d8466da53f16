// Writes the lease of instances as labels (instances.get and instances.setLabels).
// Compute Engine replaces all labels of an instance at once, and only if the request names the fingerprint of the
// present labels: each instance is read and written, two requests. A listing would show the fingerprints of all at
// once, but one that lags, and each of them costs a third request. If the labels change in between, they are read
// again. A few instances are under way at a time.
#include "providers/gcp/gcp_decode.h"
#include "providers/gcp/gcp_encode.h"
#include "providers/gcp/gcp_names.h"
#include "providers/gcp/gcp_verbs.h"
#include "providers/wire/percent.h"

#include <stdlib.h>

enum { TRIES = 5, WIDTH = 8, CONFLICTS = 5 };

struct lanes {
    const struct rb_gcp *gcp;
    struct rb_renewal *renewal;
    int next; // not begun yet
};

// One instance after the other.
struct lane {
    struct rb_arena arena; // of the present instance
    struct lanes *of;
    const char *name, *zone;
    struct rb_gcp_labelled labels;
    struct rb_gcp_operation operation;
    int conflicts; // how often others were faster
};

static void end_lane(struct lane *l, bool dropped)
{
    struct lanes *all = l->of;
    struct rb_renewal *r = all->renewal;
    rb_api_state_free(l);
    if (r->n_open == 1)
        free(all);
    rb_renewal_close(r, dropped);
}

static void dropped(void *arg)
{
    end_lane(arg, true);
}

static struct rb_api_call new_call(const char *name, struct lane *l, rb_api_decode_fn *decode, rb_api_done_fn *done)
{
    struct rb_api_call call = rb_api_call_new(name, TRIES, l, decode, done);
    call.drop = dropped;
    return call;
}

static void begin_next(struct lane *l);
static void ask_labels(struct lane *l);

static void end_instance(struct lane *l, const struct rb_err *err)
{
    rb_renewal_note(l->of->renewal, err);
    if (err && err->code == RB_ERR_DENIED)
        l->of->next = l->of->renewal->n; // the others would be refused as well
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
        end_instance(l, err);
}

static void set_labels(struct lane *l)
{
    struct rb_err err;
    struct rb_api_call call = new_call("instances.setLabels", l, decode_operation, labels_set);
    rb_percent_put(&call.target, RB_GCP_INSTANCE "/setLabels", l->of->gcp->project, l->zone, l->name);
    if (rb_gcp_encode_labels(&l->labels, &l->of->renewal->lease, &call.body, &err)) {
        rb_google_send(l->of->gcp->client, RB_GOOGLE_COMPUTE, &call);
        return;
    }
    rb_buf_finish(&call.target);
    rb_buf_finish(&call.body);
    end_instance(l, &err);
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
        end_instance(l, err);
    else
        set_labels(l);
}

static void ask_labels(struct lane *l)
{
    struct rb_api_call call = new_call("instances.get", l, decode_labels, labels_known);
    rb_percent_put(&call.target, RB_GCP_INSTANCE "?fields=%s", l->of->gcp->project, l->zone, l->name,
                   "kind,labels,labelFingerprint");
    rb_google_send(l->of->gcp->client, RB_GOOGLE_COMPUTE, &call);
}

// --- one after the other

static void begin_next(struct lane *l)
{
    const struct rb_renewal *r = l->of->renewal;
    rb_arena_finish(&l->arena);
    rb_arena_init(&l->arena);
    l->conflicts = 0;
    while (l->of->next < r->n)
        if (rb_gcp_instance_id_split(r->ids[l->of->next++], &l->arena, &l->name, &l->zone)) {
            ask_labels(l);
            return;
        } // one that is no id of Compute Engine is not there
    end_lane(l, false);
}

void rb_gcp_renew(struct rb_provider *p, const char *const *ids, int n, const struct rb_tag *lease, rb_terminate_fn *fn,
                  void *arg)
{
    static const char right[] = "compute.instances.setLabels (docs/policies/gcp-role.yaml)";
    const int width = n < WIDTH ? n : WIDTH;
    struct lanes *all = rb_xcalloc(1, sizeof *all);
    *all = (struct lanes){.gcp = p->state, .renewal = rb_renewal_create(ids, n, lease, right, fn, arg)};
    all->renewal->n_open = width;
    for (int i = 0; i < width; i++) {
        struct lane *l = rb_api_state_create(sizeof *l);
        l->of = all;
        begin_next(l);
    }
}
