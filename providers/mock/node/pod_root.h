// Gives a pod's processes the files of this machine, and at its mount paths directories of its own. Needs root, or user
// namespaces; where the kernel allows neither a pod sees this machine's files only.
#ifndef RB_PROVIDERS_MOCK_POD_ROOT_H
#define RB_PROVIDERS_MOCK_POD_ROOT_H

#include "providers/mock/node/pods.h"

#include <stdbool.h>

// Moves the calling process, and all that it will start, into a mount and a process namespace of their own: its next
// child is process 1. False: not possible here.
bool rb_pod_root_unshare(void);
// In the namespaces: builds the root at `root` (an empty directory) and makes it this process's. False: *why (a static
// text) says what failed, with errno.
bool rb_pod_root_enter(const char *root, const struct rb_pod_volume *volumes, int n, const char **why);
// For the first process of the namespace, in the new root: /proc shows the pod's processes only, where that is allowed.
void rb_pod_root_mount_proc(void);

#endif
