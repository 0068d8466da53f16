// Reaches the pods of a cluster of Kubernetes: every command is a process of our own program, which runs it in the pod by
// exec (providers/k8s/k8s_exec.h) and learns how to reach the cluster over a socket in the run's control directory.
#ifndef RB_EXECUTOR_TRANSPORT_K8S_H
#define RB_EXECUTOR_TRANSPORT_K8S_H

#include <stdbool.h>

// Is this process such a helper? Programs that launch nodes look first thing in main. Then *out_code is its exit code.
bool rb_transport_k8s_helps(int argc, char **argv, int *out_code);

#endif
