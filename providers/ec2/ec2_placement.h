// Manages cluster placement groups of EC2: creates them before the first launch that needs one, finds them by the run's
// tags and deletes them when their instances are gone. They cost nothing, but an account may have only 500 in a region.
#ifndef RB_PROVIDERS_EC2_PLACEMENT_H
#define RB_PROVIDERS_EC2_PLACEMENT_H

#include "providers/aws/aws_client.h"
#include "providers/provider.h"

// Creates the group that the launch names; an existing one is fine. Calls back once, from the loop.
typedef void rb_ec2_group_fn(void *arg, const struct rb_err *err);
// drop: instead of fn, when the client goes.
void rb_ec2_make_group(struct rb_aws_client *client, const struct rb_launch *launch, rb_ec2_group_fn *fn,
                       rb_loop_fn *drop, void *arg);
// As the provider's groups and end_group.
void rb_ec2_groups(struct rb_aws_client *client, const char *run_id, rb_groups_fn *fn, void *arg);
void rb_ec2_end_group(struct rb_aws_client *client, const char *name, rb_terminate_fn *fn, void *arg);

#endif
