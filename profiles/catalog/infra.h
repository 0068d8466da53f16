// Checks and compares names of infrastructure: "provider[/region[/zone]]", such as "aws/us-east-1/us-east-1a" or "local".
// Regions become parts of host names, so their form is checked first.
#ifndef RB_PROFILES_INFRA_H
#define RB_PROFILES_INFRA_H

#include "base/errors/err.h"

#include <stdbool.h>

extern const char *const rb_infra_providers[]; // sorted by name, NULL-terminated

// Is the text of that form, with a known provider, and with region and zone in that provider's notation?
bool rb_infra_check(const char *infra, struct rb_err *err);
// Does it contain everything that a price depends on? aws, gcp, k8s and mock need a region.
bool rb_infra_is_priceable(const char *infra);
// May a machine there be declared free? This machine, the nodes of an existing cluster, and nodes that a pool lends, because
// the pool's own run is billed for them.
bool rb_infra_may_be_free(const char *infra);
// Are its nodes pods, which are launched from a container image and are the container in which work runs?
bool rb_infra_has_pods(const char *infra);
// "aws/us-east-1/us-east-1a" is within "aws/us-east-1", "aws" and "*", and within itself.
bool rb_infra_within(const char *infra, const char *pattern);
struct rb_infra_place {
    char region[121], zone[121]; // "": there is none; no name that rb_infra_check takes is cut
};
struct rb_infra_place rb_infra_place(const char *infra);
// Are they the same but for their zones?
bool rb_infra_same_region(const char *a, const char *b);

#endif
