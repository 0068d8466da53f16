// Declares every autoscaling rule; only autoscales.c refers to them by name.
#ifndef RB_ENGINE_SHARING_AUTOSCALES_H
#define RB_ENGINE_SHARING_AUTOSCALES_H

#include "engine/sharing/autoscale.h"

extern const struct rb_autoscale rb_autoscale_marginal, rb_autoscale_throughput, rb_autoscale_utility;

const struct rb_autoscale *rb_autoscale_find(const char *name); // NULL: unknown
extern const struct rb_autoscale *const rb_autoscales[];         // sorted by name, NULL-terminated

#endif
