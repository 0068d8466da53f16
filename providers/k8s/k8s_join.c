// Makes one node of each Job and its pods, from what was listed. Pure. A Job that was not seen to end may have made a second pod,
// which no node of the plan is.
#include "providers/k8s/k8s_decode.h"

#include <string.h>

static bool is_over(const struct rb_kube_pod *pod)
{
    return pod->is_ending || pod->instance.state >= RB_INSTANCE_STOPPING;
}

// It is not used, and ends with the Job.
static void disown(struct rb_kube_pod *pod)
{
    pod->has_second = true;
    pod->instance.state = RB_INSTANCE_STOPPING;
    pod->instance.address = pod->instance.private_address = NULL;
    pod->instance.fault = NULL;
    pod->instance.state_reason = "its pod has ended, and its Job has made another";
}

// A pod that has ended before the Job was asked for shows so in a listing of pods that was asked for later.
static void take_pod(struct rb_kube_pod *node, const struct rb_kube_pod *pod)
{
    const struct rb_kube_pod known = *node;
    *node = *pod;
    node->anchor = known.anchor;
    node->n_over = known.n_over;
    if (known.n_over > 0 && !is_over(pod))
        disown(node);
}

// Two pods of one Job: the first is the node. A page that was read again shows the same pod twice.
static void take_second(struct rb_kube_pod *node, const struct rb_kube_pod *pod)
{
    const bool is_first =
        pod->created_us < node->created_us || (pod->created_us == node->created_us && is_over(pod) && !is_over(node));
    if (strcmp(pod->uid, node->uid) == 0)
        return;
    if (is_first)
        *node = *pod;
    node->has_second = true;
}

void rb_kube_join_jobs(struct rb_kube_pods *all)
{
    int n = 0;
    for (int i = 0; i < all->n; i++) {
        const struct rb_kube_pod *pod = &all->items[i];
        int at = 0;
        while (at < n && strcmp(all->items[at].instance.id, pod->instance.id) != 0)
            at++;
        if (at == n)
            all->items[n++] = *pod;
        else if (all->items[at].is_job)
            take_pod(&all->items[at], pod);
        else
            take_second(&all->items[at], pod);
    }
    all->n = n;
}
