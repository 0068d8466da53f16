// Reads public parameters of AWS Systems Manager, under whose names images are published.
#ifndef RB_PROVIDERS_SSM_H
#define RB_PROVIDERS_SSM_H

#include "providers/aws/aws_client.h"

// The parameter that names an image ("resolve:ssm:/aws/service/..", or the path alone); NULL: it is an image id.
const char *rb_ssm_parameter_of(const char *image);

// A client for rb_ssm_get: rb_aws_client_create with service and target filled in.
bool rb_ssm_client_create(const struct rb_aws_client_config *config, struct rb_aws_client **out, struct rb_err *err);

typedef void rb_ssm_fn(void *arg, const struct rb_err *err, const char *value); // value borrowed for the call
// NOT_FOUND: there is no such parameter in this region.
void rb_ssm_get(struct rb_aws_client *ssm, const char *parameter, rb_ssm_fn *fn, void *arg);

#endif
