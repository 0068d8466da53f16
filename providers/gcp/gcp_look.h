// Looks up one instance of Compute Engine by its name. An instance that has ended disappears at once, but the
// operations that created and ended it are kept for days and show when it ran.
#ifndef RB_PROVIDERS_GCP_LOOK_H
#define RB_PROVIDERS_GCP_LOOK_H

#include "providers/gcp/google_client.h"
#include "providers/provider.h"

// id, region: copied. fn is called once, from the loop; or drop (NULL: no one is called) if the client is destroyed
// first. NOT_FOUND: neither the instance nor any operation on it is known.
void rb_gcp_look(struct rb_google_client *client, const char *region, const char *id, rb_launch_fn *fn,
                 void (*drop)(void *arg), void *arg);
// Likewise, for an instance that is known not to exist: reads only the operations.
void rb_gcp_look_back(struct rb_google_client *client, const char *region, const char *id, rb_launch_fn *fn,
                      void (*drop)(void *arg), void *arg);

#endif
