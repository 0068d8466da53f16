// Dry run before the first launch: does the image exist, and may we launch instances and terminate them?
#ifndef RB_PROVIDERS_EC2_PREFLIGHT_H
#define RB_PROVIDERS_EC2_PREFLIGHT_H

#include "providers/aws/aws_client.h"
#include "providers/provider.h"

// Dry runs of RunInstances and TerminateInstances, after the image's parameter was looked up where it is named by one.
// ssm is asked for nothing else. fn as in provider.h.
void rb_ec2_preflight(struct rb_aws_client *ec2, struct rb_aws_client *ssm, const struct rb_launch *launch,
                      rb_preflight_fn *fn, void *arg);

#endif
