// Sends calls to the services of Google's cloud: finds their endpoints, our credentials and the project, and adds an
// access token to every try. Retries are in api_call.h.
#ifndef RB_PROVIDERS_GOOGLE_CLIENT_H
#define RB_PROVIDERS_GOOGLE_CLIENT_H

#include "providers/wire/api_call.h"

enum rb_google_service {
    RB_GOOGLE_COMPUTE, // targets begin behind .../compute/v1
    RB_GOOGLE_BILLING, // the price list: .../v1
    RB_GOOGLE_RESOURCES, // the Cloud Resource Manager, who may do what: .../v1
    RB_GOOGLE_N_SERVICES,
};

struct rb_google_client_config {
    const struct rb_loop *loop;
    struct rb_http *http;    // outlives the client
    rb_api_judge_fn *judge;
};

struct rb_google_client;

// Errors: INVALID (endpoint, project), DENIED (credentials).
bool rb_google_client_create(const struct rb_google_client_config *config, struct rb_google_client **out,
                             struct rb_err *err);
void rb_google_client_destroy(struct rb_google_client *c); // pending calls are dropped
const char *rb_google_client_project(const struct rb_google_client *c);

int64_t rb_google_client_clock_us(const struct rb_google_client *c); // rb_api_clock_us, of Compute Engine

// As rb_api_send and rb_api_refuse. A call with a body says that it is JSON, and is a POST unless it has a method; one
// without is a GET.
void rb_google_send(struct rb_google_client *c, enum rb_google_service service, struct rb_api_call *call);
void rb_google_refuse(struct rb_google_client *c, struct rb_api_call *call, const struct rb_err *err);

// The endpoint of the service: RB_GCP_COMPUTE_ENDPOINT (RB_GCP_BILLING_ENDPOINT), then the variable of gcloud
// (CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE, ..._CLOUDBILLING), then Google's own. Where an override names no path, the
// service's own is added. Plain http only to loopback. Where Compute Engine is on loopback, so are the others, unless
// their own variables (RB_GCP_RESOURCES_ENDPOINT, ..._CLOUDRESOURCEMANAGER) say otherwise: a mock's tokens are no
// business of Google's.
bool rb_google_endpoint(enum rb_google_service service, char *out, size_t size, struct rb_err *err);

#endif
