// Sends calls to one service of AWS in one region: finds its endpoint and our credentials, and signs every try. Retries
// are in api_call.h.
#ifndef RB_PROVIDERS_AWS_CLIENT_H
#define RB_PROVIDERS_AWS_CLIENT_H

#include "providers/wire/api_call.h"

struct rb_aws_client_config {
    const struct rb_loop *loop;
    struct rb_http *http;      // outlives the client
    const char *service, *region;
    const char *target_prefix; // of a service with a JSON API ("AmazonSSM."): goes before the call's name; NULL: none
    bool loopback_only;
    rb_api_judge_fn *judge;
};

struct rb_aws_client;

// Finds endpoint and credentials. Errors: INVALID (endpoint, region), DENIED (credentials).
bool rb_aws_client_create(const struct rb_aws_client_config *config, struct rb_aws_client **out, struct rb_err *err);
void rb_aws_client_destroy(struct rb_aws_client *c); // pending calls are dropped
bool rb_aws_client_is_loopback(const struct rb_aws_client *c);

int64_t rb_aws_client_ends_us(const struct rb_aws_client *c); // rb_aws_session_ends_us
int64_t rb_aws_client_clock_us(const struct rb_aws_client *c); // rb_api_clock_us

// As rb_api_send and rb_api_refuse. AWS takes every call as a POST to the endpoint itself.
void rb_aws_send(struct rb_aws_client *c, struct rb_api_call *call);
void rb_aws_refuse(struct rb_aws_client *c, struct rb_api_call *call, const struct rb_err *err);

#endif
