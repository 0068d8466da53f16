// Writes the lease of instances as a tag (CreateTags).
#ifndef RB_PROVIDERS_EC2_LEASE_H
#define RB_PROVIDERS_EC2_LEASE_H

#include "providers/aws/aws_client.h"
#include "providers/listing.h"

// The provider's renew. n >= 1.
void rb_ec2_renew(struct rb_aws_client *client, const char *const *ids, int n, const struct rb_tag *lease,
                  rb_terminate_fn *fn, void *arg);

#endif
