// Lists EC2's present offers: machine types joined with their prices, on demand (Price List) and on the spot market.
#ifndef RB_PROVIDERS_EC2_OFFERS_H
#define RB_PROVIDERS_EC2_OFFERS_H

#include "providers/aws/aws_client.h"
#include "providers/provider.h"

// One offer per type on demand, and one per type and zone on the spot market. n_types 0: all types; those without a
// price have no offer. A named type that is sold on demand but has no price there is an error (PRICE), as is one whose
// GPUs the API does not describe. infra: "aws/us-east-1". Calls fn once, from the loop, unless a client is destroyed
// before.
void rb_ec2_offers(struct rb_aws_client *client, struct rb_aws_client *price_list, const struct rb_loop *loop,
                   const char *infra, const char *const *types, int n_types, rb_offers_fn *fn, void *arg);

#endif
