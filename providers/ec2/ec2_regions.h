// Lists the regions that are enabled for this account.
#ifndef RB_PROVIDERS_EC2_REGIONS_H
#define RB_PROVIDERS_EC2_REGIONS_H

#include "providers/aws/aws_client.h"
#include "providers/provider.h"

void rb_ec2_regions(struct rb_aws_client *client, rb_regions_fn *fn, void *arg);

#endif
