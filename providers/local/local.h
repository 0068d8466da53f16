// The provider of this machine: a cloud with one free node.
#ifndef RB_PROVIDERS_LOCAL_H
#define RB_PROVIDERS_LOCAL_H

#include "providers/provider.h"

extern const struct rb_provider_ops rb_provider_local;

#endif
