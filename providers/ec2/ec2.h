// The providers of Amazon EC2 and of the mock cloud, which has the same API.
#ifndef RB_PROVIDERS_EC2_H
#define RB_PROVIDERS_EC2_H

#include "providers/provider.h"

extern const struct rb_provider_ops rb_provider_aws;
extern const struct rb_provider_ops rb_provider_mock; // the same, but refuses any endpoint beyond loopback

#endif
