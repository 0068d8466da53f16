// What EC2 sells now: machine types joined with current spot prices.
#ifndef RB_PROVIDERS_EC2_OFFERS_H
#define RB_PROVIDERS_EC2_OFFERS_H

#include "providers/aws_client.h"
#include "providers/provider.h"

// One offer per type and zone on the spot market. On-demand prices are not part of the EC2 API: such offers would have
// no price, so there are none; they come from price files. infra: "aws/us-east-1". Calls fn once, from the loop, unless
// the client is destroyed before.
void rb_ec2_offers(struct rb_aws_client *client, const struct rb_loop *loop, const char *infra,
                   const char *const *types, int n_types, rb_offers_fn *fn, void *arg);

#endif
