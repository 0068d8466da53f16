// Runs one command in a pod, as ssh does on a machine: stdin, stdout, stderr and exit code are the command's. Over exec of
// the Kubernetes API, as WebSocket (subprotocols v5 and v4.channel.k8s.io). This is the whole life of a helper process.
#ifndef RB_PROVIDERS_K8S_EXEC_H
#define RB_PROVIDERS_K8S_EXEC_H

struct rb_kubernetes_spec;

struct rb_kube_exec {
    const char *door;   // path of the socket (k8s_door.h); NULL: the cluster is found by spec
    const struct rb_kubernetes_spec *spec;
    const char *name;   // of infra k8s/NAME
    const char *pod;    // NAME.UID: the command runs in this pod, and in no other that has its name
    const char *remote; // for sh -c in the pod's home
};
// The command's exit code. 255: the pod could not be reached, or the connection ended before the command did; stderr says
// why. What the command started in sessions of its own goes on; the command itself ends with the connection.
int rb_kube_exec(const struct rb_kube_exec *e);

#endif
