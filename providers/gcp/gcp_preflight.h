// Dry run before the first launch: does the image exist, and may we launch instances and terminate them?
#ifndef RB_PROVIDERS_GCP_PREFLIGHT_H
#define RB_PROVIDERS_GCP_PREFLIGHT_H

#include "providers/gcp/google_client.h"
#include "providers/provider.h"

// Which permissions of docs/policies/gcp-role.yaml do we have in the project, and does the image exist? Neither
// launches anything. DENIED names the missing permissions; those that a run can do without are not required. fn as in
// provider.h; the launch has been checked (rb_gcp_check_launch).
void rb_gcp_preflight(struct rb_google_client *client, const struct rb_launch *launch, rb_preflight_fn *fn, void *arg);

// The permissions that are checked: those of the role file, in its order. NULL-terminated.
extern const char *const rb_gcp_permissions[];

#endif
