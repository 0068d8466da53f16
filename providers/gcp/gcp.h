// The provider of Google Compute Engine.
#ifndef RB_PROVIDERS_GCP_H
#define RB_PROVIDERS_GCP_H

#include "providers/provider.h"

extern const struct rb_provider_ops rb_provider_gcp;

#endif
