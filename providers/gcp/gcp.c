// The verbs of a provider as calls of the Compute Engine API.
#include "providers/gcp/gcp.h"

#include "providers/gcp/gcp_decode.h"
#include "providers/gcp/gcp_encode.h"
#include "providers/gcp/gcp_errors.h"
#include "providers/gcp/gcp_names.h"
#include "providers/gcp/gcp_verbs.h"
#include "providers/wire/http.h"
#include "providers/wire/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { END_TRIES = 5 };

struct ending {
    struct rb_arena arena;
    const char *name, *zone;
    struct rb_gcp_operation operation;
    rb_terminate_fn *fn;
    void *arg;
};

// --- list ---

// The filter lets runs pass whose ids begin alike.
static void keep_run(struct rb_instance_page *page, const char *run_id)
{
    int n = 0;
    for (int i = 0; i < page->n; i++)
        if (!run_id || (page->instances[i].run_id && strcmp(page->instances[i].run_id, run_id) == 0))
            page->instances[n++] = page->instances[i];
    page->n = n;
}

static bool decode_page(void *cloud, const char *run_id, const char *body, size_t n, struct rb_arena *arena,
                        struct rb_instance_page *out, struct rb_err *err)
{
    const struct rb_gcp *gcp = cloud;
    if (!rb_gcp_decode_list(body, n, gcp->region, arena, out, err))
        return false;
    keep_run(out, run_id);
    return true;
}

static void send_page(void *cloud, const char *run_id, const char *page, struct rb_api_call *call)
{
    const struct rb_gcp *gcp = cloud;
    rb_gcp_target_list(gcp->project, run_id ? RB_TAG_RUN : NULL, run_id, page, &call->target);
    rb_google_send(gcp->client, RB_GOOGLE_COMPUTE, call);
}

static void gcp_list(struct rb_provider *p, const char *run_id, rb_list_fn *fn, void *arg)
{
    static const struct rb_list_source source = {"instances.aggregatedList", decode_page, send_page};
    rb_list_instances(&source, p->state, run_id, fn, arg);
}

// --- terminate ---

static bool decode_ending(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct ending *e = arg;
    return rb_gcp_decode_operation(body, n, &e->arena, &e->operation, err);
}

// An operation that is under way counts as accepted; a listing shows later whether it succeeded. Compute Engine looks
// the instance up by name where it is kept, not in a listing that lags: an instance that is not found has ended.
static void ending_done(void *arg, const struct rb_err *err)
{
    struct ending *e = arg;
    const enum rb_gcp_progress progress = e->operation.progress;
    if (!err && (progress == RB_GCP_FAILED || progress == RB_GCP_UNSETTLED))
        err = &e->operation.error;
    if (err && err->code == RB_ERR_NOT_FOUND)
        err = NULL;
    e->fn(e->arg, err);
    rb_api_state_free(e);
}

// Without a request id: an operation that failed would be the answer to every repetition of it. Not mutating, because a
// repetition changes nothing: when an answer is lost, the request is repeated.
static void gcp_terminate(struct rb_provider *p, const char *id, rb_terminate_fn *fn, void *arg)
{
    struct rb_gcp *gcp = p->state;
    struct ending *e = rb_api_state_create(sizeof *e);
    struct rb_api_call call = rb_api_call_new("instances.delete", END_TRIES, e, decode_ending, ending_done);
    struct rb_err err;
    call.method = "DELETE";
    e->fn = fn;
    e->arg = arg;
    if (!rb_gcp_instance_id_split(id, &e->arena, &e->name, &e->zone)) {
        rb_err_set(&err, RB_E_GCP_INSTANCE, "'%.100s': expected the id of an instance, NAME.ZONE", id);
        rb_google_refuse(gcp->client, &call, &err);
        return;
    }
    rb_percent_put(&call.target, RB_GCP_INSTANCE, gcp->project, e->zone, e->name);
    rb_google_send(gcp->client, RB_GOOGLE_COMPUTE, &call);
}

static int64_t gcp_clock_us(const struct rb_provider *p)
{
    const struct rb_gcp *gcp = p->state;
    return rb_google_client_clock_us(gcp->client);
}

// --- life ---

static bool gcp_is_harmless(const char *region)
{
    char endpoint[512];
    (void)region; // one endpoint serves them all
    return rb_google_endpoint(RB_GOOGLE_COMPUTE, endpoint, sizeof endpoint, NULL) && rb_http_is_loopback(endpoint);
}

static void gcp_destroy(struct rb_provider *p)
{
    struct rb_gcp *gcp = p->state;
    if (!gcp)
        return;
    rb_google_client_destroy(gcp->client);
    free(gcp);
    p->state = NULL;
}

static bool gcp_create(const struct rb_provider_config *config, struct rb_provider *out, struct rb_err *err)
{
    if (!config->http)
        return rb_err_set(err, RB_E_HTTP_REQUEST, "gcp/%s: needs an HTTP client", config->region);
    const struct rb_google_client_config client = {
        .loop = config->loop,
        .http = config->http,
        .judge = rb_gcp_judge,
    };
    struct rb_gcp *gcp = rb_xcalloc(1, sizeof *gcp);
    gcp->loop = config->loop;
    snprintf(gcp->region, sizeof gcp->region, "%s", config->region);
    if (!rb_google_client_create(&client, &gcp->client, err)) {
        free(gcp);
        return rb_err_prefix(err, "gcp");
    }
    gcp->project = rb_google_client_project(gcp->client);
    *out = (struct rb_provider){.ops = &rb_provider_gcp, .state = gcp};
    return true;
}

static bool gcp_endpoint(const char *region, char *out, size_t size, struct rb_err *err)
{
    (void)region; // one for all
    return rb_google_endpoint(RB_GOOGLE_COMPUTE, out, size, err);
}

const struct rb_provider_ops rb_provider_gcp = {
    .name = "gcp",
    .summary = "Google Compute Engine",
    .launches_gangs = true,
    .grants_profiles = true,
    .keeps_lifetimes = true,
    .create = gcp_create,
    .destroy = gcp_destroy,
    .launch = rb_gcp_launch,
    .list = gcp_list,
    .look = rb_gcp_look,
    .preflight = rb_gcp_preflight,
    .quotas = rb_gcp_quotas,
    .terminate = gcp_terminate,
    .renew = rb_gcp_renew,
    .clock_us = gcp_clock_us,
    .endpoint = gcp_endpoint,
    .is_harmless = gcp_is_harmless,
    .offers = rb_gcp_offers,
    .reservations = rb_gcp_reservations,
};
