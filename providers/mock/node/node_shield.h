// Protects the host where rbmock is root and its nodes could shut the host down: a mount namespace in which the host's
// own tools are covered by the node's, so that not even an absolute path typed into a session reaches them.
#ifndef RB_PROVIDERS_MOCK_NODE_SHIELD_H
#define RB_PROVIDERS_MOCK_NODE_SHIELD_H

#include "providers/mock/node/node_dir.h"

// For the calling process and all it will start. Does nothing without root; where the kernel does not allow it (a
// container without CAP_SYS_ADMIN) boot.log says so, and PATH and the search of user data remain.
void rb_node_shield_raise(const struct rb_node_dir *d);
// In a mount namespace of its own: closes the ways to the host's init and kernel, and leaves its tools.
void rb_node_shield_close(void);

#endif
