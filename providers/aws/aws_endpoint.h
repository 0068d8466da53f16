// Finds the endpoint of a service of AWS.
#ifndef RB_PROVIDERS_AWS_ENDPOINT_H
#define RB_PROVIDERS_AWS_ENDPOINT_H

#include "base/errors/err.h"

#include <stddef.h>

// AWS_ENDPOINT_URL_EC2 > AWS_ENDPOINT_URL > config file services/profile > https://ec2.REGION.amazonaws.com; scheme,
// host and port, no slash at the end. Plain http only to loopback; loopback_only refuses everything else. service:
// "ec2", "ssm", ...
bool rb_aws_endpoint(const char *service, const char *region, bool loopback_only, char *out, size_t size,
                     struct rb_err *err);

#endif
