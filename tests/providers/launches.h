// Launches that together use every parameter the EC2 client knows.
#ifndef RB_TESTS_PROVIDERS_LAUNCHES_H
#define RB_TESTS_PROVIDERS_LAUNCHES_H

#include "providers/provider.h"

extern const struct rb_launch launch_plain;
extern const struct rb_launch launch_full; // spot, zone, subnet, groups, profile, disk, tags, user-data

#endif
