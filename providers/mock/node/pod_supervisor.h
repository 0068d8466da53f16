// The process that stands between rbmock and a pod's container: it starts process 1 and the commands beside it, and
// kills what they leave behind. It dies with rbmock, however rbmock dies.
//
// They exchange messages over a socket pair (SOCK_SEQPACKET), one struct each; a command's words follow its struct.
#ifndef RB_PROVIDERS_MOCK_POD_SUPERVISOR_H
#define RB_PROVIDERS_MOCK_POD_SUPERVISOR_H

#include "providers/mock/node/pods.h"

#define RB_POD_MAX_COMMAND 65536 // bytes of all words of a command

struct rb_pod_order {
    enum { RB_POD_ORDER_EXEC, RB_POD_ORDER_SIGNAL } what;
    int number; // of the command, or the signal
};
// Words of a command, each with its NUL, follow an RB_POD_ORDER_EXEC, with three file descriptors (SCM_RIGHTS).

// The supervisor's reports are structs rb_pod_report without an id; the end of the socket means that it is gone.

struct rb_pod_scene {
    struct rb_pod_start start;
    const char *root, *log; // an empty directory; a file
};

// Forks it; *out_socket is non-blocking.
bool rb_pod_supervisor_start(const struct rb_pod_scene *scene, pid_t *out_pid, int *out_socket, struct rb_err *err);

#endif
