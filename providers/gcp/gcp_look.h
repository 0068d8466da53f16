// One instance of Compute Engine by its name. An instance that has ended is gone at once, but the operations that made and
// ended it are kept for days, and say when it ran.
#ifndef RB_PROVIDERS_GCP_LOOK_H
#define RB_PROVIDERS_GCP_LOOK_H

#include "providers/gcp/google_client.h"
#include "providers/provider.h"

// id, region: copied. fn is called once, from the loop; or drop (NULL: nobody minds) if the client is destroyed first.
// NOT_FOUND: neither the instance nor any operation on it is known.
void rb_gcp_look(struct rb_google_client *client, const char *region, const char *id, rb_launch_fn *fn,
                 void (*drop)(void *arg), void *arg);
// Likewise, of one that is known not to be there: only the operations are asked for.
void rb_gcp_look_back(struct rb_google_client *client, const char *region, const char *id, rb_launch_fn *fn,
                      void (*drop)(void *arg), void *arg);

#endif
