// The process that represents an instance's machine: it boots the node, supervises it, and kills all processes of the
// node when it ends. As the kernel's subreaper every orphan of the node comes back to it, so that nothing (nohup,
// setsid, a daemon forked twice) outlives the instance. It dies with rbmock, however rbmock dies.
#ifndef RB_PROVIDERS_MOCK_NODE_SUPERVISOR_H
#define RB_PROVIDERS_MOCK_NODE_SUPERVISOR_H

#include "providers/mock/node/node_dir.h"

#include <sys/types.h>

// Signals the supervisor understands: SIGTERM ends the node, SIGUSR1 freezes its processes, SIGUSR2 thaws them.
// Forks it; it writes lines to *out_report ("ready", "failed WHY"), which reads as ended when the node is gone to its
// last process. netns NULL: the host's network.
bool rb_node_supervisor_start(const struct rb_node_dir *d, const char *netns, pid_t *out_pid, int *out_report,
                              struct rb_err *err);

#endif
