// Launches instances of Compute Engine, and tries every zone that may have room for them.
//
//   zone given ------------------------------------------+
//   zones that sell the type --> is it there already? ---+--> insert --> operation --> instances
//                                                        ^      |            |
//                                                        +------+------------+  no capacity: next zone
//
// The name of an instance is a function of token and zone, so an insert that is repeated, by this call or by a later
// process, finds what the first one created (the request id, then HTTP status 409). A zone is left only when it is
// certain that nothing is there: refused, or the operation failed. Any other error while we wait for the operation is
// no answer about the machine: the instance itself is looked up, and if even that fails the outcome is unknown. A gang
// uses bulkInsert in the same way, which creates all of it or ends what it created; a zone is left when nothing of it
// exists there.
#ifndef RB_PROVIDERS_GCP_LAUNCH_H
#define RB_PROVIDERS_GCP_LAUNCH_H

#include "providers/gcp/google_client.h"
#include "providers/provider.h"

// region is copied. fn is called once, from the loop, or never if the client is destroyed first.
void rb_gcp_launch(struct rb_google_client *client, const struct rb_loop *loop, const char *region,
                   const struct rb_launch *what, rb_launch_fn *fn, void *arg);

#endif
