// Declares every policy that divides a cluster; only sharing.c refers to them by name.
#ifndef RB_ENGINE_SHARING_SHARINGS_H
#define RB_ENGINE_SHARING_SHARINGS_H

#include "engine/sharing/sharing.h"

extern const struct rb_sharing rb_sharing_goodput, rb_sharing_optimus, rb_sharing_pollux, rb_sharing_tiresias;

#endif
