// A pod in time.
//
//   Pending --machine--> scheduled --pull--> Running --process 1 ends--> Succeeded, Failed
//   deletion: TERM at once, KILL when the grace period is over; the object goes a while after the process
#include "providers/mock/k8s/k8s_call.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SILENT_AFTER_US (40 * RB_US_PER_S)    // the node controller's grace period
#define COLLECT_US      (700 * INT64_C(1000)) // from a deleted owner to its marked dependents
#define NODE_GONE_US    (60 * RB_US_PER_S)    // from giving a pod up to the end of its Node object

static int64_t whole_second(int64_t us)
{
    return us - us % RB_US_PER_S;
}

// --- orders ---

static struct rb_k8s_order *add_order(struct rb_mock_k8s *k, int what, const struct rb_k8s_pod *p)
{
    if (k->next_order == k->n_orders)
        k->next_order = k->n_orders = 0;
    k->orders = rb_grow(k->orders, k->n_orders, sizeof *k->orders);
    k->orders[k->n_orders] = (struct rb_k8s_order){.what = what, .uid = p->uid};
    return &k->orders[k->n_orders++];
}

bool rb_mock_k8s_next_order(struct rb_mock_k8s *k, struct rb_k8s_order *out)
{
    if (k->next_order == k->n_orders)
        return false;
    *out = k->orders[k->next_order++];
    return true;
}

void rb_k8s_order_signal(struct rb_mock_k8s *k, const struct rb_k8s_pod *p, int signal_number)
{
    if (p->has_process && !p->is_silent)
        add_order(k, RB_K8S_SIGNAL, p)->signal_number = signal_number;
}

void rb_k8s_order_start(struct rb_mock_k8s *k, struct rb_k8s_pod *p)
{
    p->has_process = true;
    rb_k8s_read_start(k, p, &k->arena, &add_order(k, RB_K8S_START, p)->start);
}

// --- the ledger ---

static void enter_state(struct rb_mock_k8s *k, struct rb_k8s_pod *p)
{
    struct rb_cloud_instance *i = p->instance;
    const bool ended = !p->has_process && (rb_k8s_has_ended(p) || p->is_gone);
    i->state = p->is_gone && !p->has_process ? RB_CLOUD_TERMINATED
               : ended                       ? RB_CLOUD_STOPPED
               : p->deletion_us >= 0         ? RB_CLOUD_SHUTTING_DOWN
               : p->scheduled_us >= 0        ? RB_CLOUD_RUNNING
                                             : RB_CLOUD_PENDING;
    i->running_us = p->scheduled_us;
    i->ready_us = p->container.started_us;
    i->ended_us = i->terminated_us = p->container.finished_us;
    rb_cloud_touch(k->cloud);
}

static void blame(struct rb_k8s_pod *p, enum rb_cloud_cause cause)
{
    if (p->instance->cause == RB_CLOUD_CAUSE_NONE)
        p->instance->cause = cause;
}

static void changed(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t now_us)
{
    enter_state(k, p);
    if (!p->is_gone)
        rb_k8s_changed(k, p, "MODIFIED", now_us);
}

// --- the end ---

static void remove_object(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t now_us)
{
    p->is_gone = true;
    for (int d = 0; d < RB_K8S_N_DUE; d++)
        if (d != RB_K8S_DUE_KILL)
            p->due_us[d] = INT64_MAX;
    // A pod that was scheduled and never started has held its GPUs until now.
    if (!p->has_process && p->scheduled_us >= 0 && p->container.finished_us < 0)
        p->container.finished_us = whole_second(now_us);
    rb_k8s_changed(k, p, "DELETED", now_us);
    enter_state(k, p);
    k->needs_placing = true;
}

static void plan_removal(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t now_us)
{
    p->due_us[RB_K8S_DUE_REMOVE] = now_us + rb_k8s_draw_us(k, &rb_cloud_config_of(k->cloud)->shutdown_s);
}

void rb_k8s_disrupt(struct rb_k8s_pod *p, const char *reason, const char *message, int64_t now_us)
{
    p->disruption = reason;
    p->disruption_message = message;
    p->disruption_us = now_us;
    blame(p, RB_CLOUD_CAUSE_TAKEN);
}

void rb_k8s_delete_pod(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t grace_us, int64_t now_us)
{
    const bool is_first = p->deletion_us < 0;
    grace_us = grace_us < 0 ? p->grace_us : grace_us;
    blame(p, RB_CLOUD_CAUSE_USER);
    if (is_first)
        rb_k8s_order_signal(k, p, SIGTERM);
    if (!p->is_managed && (grace_us == 0 || p->scheduled_us < 0)) { // its process ends when it ends
        p->due_us[RB_K8S_DUE_KILL] = now_us + p->grace_us;
        remove_object(k, p, now_us);
        return;
    }
    if (!is_first && now_us + grace_us >= p->deletion_us)
        return;
    p->deletion_us = now_us + grace_us;
    p->due_us[RB_K8S_DUE_KILL] = now_us + grace_us;
    if (is_first)
        rb_k8s_tell(k, p, "Normal", "Killing", now_us, "Stopping container node");
    if (!p->has_process && !p->is_silent && !p->is_managed)
        plan_removal(k, p, now_us);
    changed(k, p, now_us);
    if (p->is_managed && is_first)
        rb_k8s_finalize_group(k, p, now_us);
}

void rb_k8s_release_pod(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t now_us)
{
    p->is_managed = false;
    if (p->deletion_us >= 0 && !p->has_process)
        plan_removal(k, p, now_us);
    changed(k, p, now_us);
}

void rb_k8s_owner_gone(struct rb_mock_k8s *k, const char *uid, int64_t now_us)
{
    for (int i = 0; i < k->n_pods; i++) {
        struct rb_k8s_pod *p = k->pods[i];
        const struct rb_node *owner = rb_node_first(p->owners);
        for (; owner && !p->is_gone; owner = owner->next)
            if (strcmp(rb_node_member_text(owner, "uid"), uid) == 0 && !rb_k8s_any_owner_lives(k, p->owners))
                p->due_us[RB_K8S_DUE_COLLECT] = now_us + COLLECT_US;
    }
    rb_k8s_collect_jobs(k, uid, now_us);
}

// --- what the processes do ---

static void finish(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int exit_code, int64_t now_us)
{
    p->has_process = false;
    p->due_us[RB_K8S_DUE_KILL] = p->due_us[RB_K8S_DUE_DEADLINE] = INT64_MAX;
    p->container.waiting = NULL;
    p->container.exit_code = exit_code;
    p->container.finished_us = whole_second(now_us);
    if (p->container.finished_us < p->scheduled_us)
        p->container.finished_us = p->scheduled_us;
    if (p->container.started_us < 0)
        p->container.started_us = p->container.finished_us;
    blame(p, RB_CLOUD_CAUSE_GUEST);
    if (p->deletion_us >= 0 && !p->is_managed)
        plan_removal(k, p, now_us);
    k->needs_placing = true;
    changed(k, p, now_us);
}

void rb_mock_k8s_report(struct rb_mock_k8s *k, const struct rb_pod_report *r, int64_t now_us)
{
    struct rb_k8s_pod *p = rb_k8s_find_uid(k, r->id);
    if (!p || !p->has_process)
        return;
    switch (r->what) {
    case RB_POD_STARTED:
        p->container.waiting = NULL;
        p->container.started_us = whole_second(now_us);
        rb_k8s_tell(k, p, "Normal", "Started", now_us, "Started container node");
        if (p->deletion_us >= 0)
            rb_k8s_order_signal(k, p, SIGTERM);
        changed(k, p, now_us);
        break;
    case RB_POD_FAILED:
        p->instance->node_failure = rb_arena_strdup(&k->arena, r->text);
        p->container.waiting_message = p->instance->node_failure;
        rb_k8s_tell(k, p, "Warning", "Failed", now_us, "Error: %s", r->text);
        finish(k, p, 128, now_us); // what the kubelet shows for a container that could not run
        break;
    case RB_POD_EXITED:
        finish(k, p, r->status, now_us);
        break;
    case RB_POD_EXEC_ENDED:
    case RB_POD_EXEC_FAILED:
        break;
    }
}

// A pod whose machine was only promised to it gets another one.
static void lose(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t now_us)
{
    if (p->scheduled_us < 0) {
        p->machine = NULL;
        p->due_us[RB_K8S_DUE_SCHEDULED] = INT64_MAX;
        k->needs_placing = true;
        return;
    }
    if (p->has_process)
        add_order(k, RB_K8S_VANISH, p);
    p->is_silent = true;
    p->due_us[RB_K8S_DUE_START] = p->due_us[RB_K8S_DUE_KILL] = p->due_us[RB_K8S_DUE_DEADLINE] = INT64_MAX;
    p->due_us[RB_K8S_DUE_SILENT] = now_us + SILENT_AFTER_US;
    p->due_us[RB_K8S_DUE_EVICT] = now_us + SILENT_AFTER_US + k->config->unreachable_us;
}

bool rb_mock_k8s_lose_node(struct rb_mock_k8s *k, const char *uid, int64_t now_us)
{
    const struct rb_k8s_pod *p = rb_k8s_find_uid(k, uid);
    if (!p || !p->has_process || p->is_silent)
        return false;
    p->machine->is_dead = true;
    for (int i = 0; i < k->n_pods; i++)
        if (k->pods[i]->machine == p->machine && !k->pods[i]->is_gone && !rb_k8s_has_ended(k->pods[i]))
            lose(k, k->pods[i], now_us);
    return true;
}

// --- what is due ---

static void schedule(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t at_us)
{
    const struct rb_offer *o = p->machine->offer;
    const struct rb_provisioning *provisioning = rb_cloud_config_provisioning(rb_cloud_config_of(k->cloud), o);
    const struct rb_chaos_rule *slow = p->fate.by[RB_CHAOS_BOOTS_SLOWLY], *take = p->fate.by[RB_CHAOS_INTERRUPTED],
                               *dies = p->fate.by[RB_CHAOS_DIES_AT], *replace = p->fate.by[RB_CHAOS_REPLACED];
    const struct rb_node *deadline = rb_node_member(p->spec, "activeDeadlineSeconds");
    const int64_t pull_us = rb_k8s_draw_us(k, &provisioning->init_s);
    p->scheduled_us = whole_second(at_us);
    p->container.waiting = "ContainerCreating";
    rb_k8s_tell(k, p, "Normal", "Scheduled", at_us, "Successfully assigned %s/%s to %s", k->config->space, p->name,
                p->machine->name);
    if (p->fate.by[RB_CHAOS_NEVER_BOOTS]) {
        p->container.waiting = "ErrImagePull";
        p->container.waiting_message = "rpc error: code = NotFound desc = failed to pull and unpack image: not found";
        rb_k8s_tell(k, p, "Warning", "Failed", at_us, "Failed to pull image: not found");
    } else {
        p->due_us[RB_K8S_DUE_START] = at_us + (slow ? (int64_t)((double)pull_us * slow->factor) : pull_us);
    }
    if (deadline)
        p->due_us[RB_K8S_DUE_DEADLINE] = at_us + deadline->integer * RB_US_PER_S;
    if (take)
        p->due_us[RB_K8S_DUE_TAKE] = at_us + take->delay_us;
    if (dies)
        p->due_us[RB_K8S_DUE_DIE] = at_us + dies->delay_us;
    if (replace)
        p->due_us[RB_K8S_DUE_REPLACE] = at_us + replace->delay_us;
    changed(k, p, at_us);
}

static void start(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t at_us)
{
    const struct rb_node *container = rb_node_first(rb_node_member(p->spec, "containers"));
    p->container.image_id = rb_node_member_text(container, "image");
    rb_k8s_tell(k, p, "Normal", "Pulled", at_us, "Successfully pulled image \"%s\"", p->container.image_id);
    if (!rb_node_first(rb_node_member(container, "command"))) {
        p->container.waiting = "CreateContainerError";
        p->container.waiting_message = "no command specified: a mock image has no entrypoint";
        changed(k, p, at_us);
        return;
    }
    rb_k8s_order_start(k, p);
}

// Its container may run on until it gives in.
static void exceed_deadline(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t at_us)
{
    p->reason = "DeadlineExceeded";
    p->message = "Pod was active on the node longer than the specified deadline";
    blame(p, RB_CLOUD_CAUSE_EXPIRED);
    if (p->has_process) {
        rb_k8s_order_signal(k, p, SIGTERM);
        p->due_us[RB_K8S_DUE_KILL] = at_us + p->grace_us;
    } else {
        p->due_us[RB_K8S_DUE_START] = INT64_MAX;
        p->container.finished_us = whole_second(at_us);
        p->container.exit_code = 137;
    }
    changed(k, p, at_us);
}

static void replace(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t at_us)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_doc doc;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_json_node(&j, p->doc.root);
    p->due_us[RB_K8S_DUE_KILL] = at_us;
    p->is_counted = true; // its Job has not seen it end, and makes another
    remove_object(k, p, at_us);
    if (p->job || !rb_doc_parse_json(&doc, "pod", text.data, text.len, NULL))
        return;
    struct rb_k8s_pod *other = rb_k8s_add_pod(k, &doc, at_us);
    other->took_place = true;
    rb_k8s_changed(k, other, "ADDED", at_us);
}

static void befall(struct rb_mock_k8s *k, struct rb_k8s_pod *p, enum rb_k8s_due due, int64_t at_us)
{
    p->due_us[due] = INT64_MAX;
    switch (due) {
    case RB_K8S_DUE_SCHEDULED:
        schedule(k, p, at_us);
        break;
    case RB_K8S_DUE_START:
        start(k, p, at_us);
        break;
    case RB_K8S_DUE_DEADLINE:
        exceed_deadline(k, p, at_us);
        break;
    case RB_K8S_DUE_DIE:
        rb_mock_k8s_lose_node(k, p->uid, at_us);
        break;
    case RB_K8S_DUE_SILENT:
        changed(k, p, at_us);
        break;
    case RB_K8S_DUE_EVICT: // no one confirms the end of its process, so the object stays until its Node goes
        rb_k8s_disrupt(p, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint", at_us);
        rb_k8s_delete_pod(k, p, -1, at_us);
        p->due_us[RB_K8S_DUE_KILL] = INT64_MAX;
        p->due_us[RB_K8S_DUE_REMOVE] = at_us + NODE_GONE_US;
        break;
    case RB_K8S_DUE_TAKE:
        rb_k8s_disrupt(p, "PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod",
                       at_us);
        rb_k8s_tell(k, p, "Normal", "Preempted", at_us, "Preempted by a pod on node %s", p->machine->name);
        rb_k8s_delete_pod(k, p, -1, at_us);
        break;
    case RB_K8S_DUE_COLLECT:
        if (!rb_k8s_any_owner_lives(k, p->owners))
            rb_k8s_delete_pod(k, p, -1, at_us);
        break;
    case RB_K8S_DUE_REPLACE:
        replace(k, p, at_us);
        break;
    case RB_K8S_DUE_KILL:
        rb_k8s_order_signal(k, p, SIGKILL);
        break;
    case RB_K8S_DUE_REMOVE:
        if (p->is_silent) {
            p->has_process = false;
            p->machine->is_gone = true;
        }
        remove_object(k, p, at_us);
        break;
    case RB_K8S_N_DUE:
        break;
    }
}

static enum rb_k8s_due next_due(const struct rb_k8s_pod *p)
{
    enum rb_k8s_due first = 0;
    for (int d = 1; d < RB_K8S_N_DUE; d++)
        if (p->due_us[d] < p->due_us[first])
            first = (enum rb_k8s_due)d;
    return first;
}

static struct rb_k8s_pod *earliest(const struct rb_mock_k8s *k)
{
    struct rb_k8s_pod *best = NULL;
    for (int i = 0; i < k->n_pods; i++)
        if (k->pods[i]->due_us[next_due(k->pods[i])] < (best ? best->due_us[next_due(best)] : INT64_MAX))
            best = k->pods[i];
    return best;
}

void rb_mock_k8s_advance(struct rb_mock_k8s *k, int64_t now_us)
{
    k->needs_placing |= rb_k8s_next_machine_us(k, k->advanced_us) <= now_us;
    k->advanced_us = now_us;
    rb_k8s_tend_machines(k, now_us);
    rb_k8s_admit_groups(k, now_us);
    rb_k8s_tend_jobs(k, now_us);
    rb_k8s_place_all(k, now_us);
    for (struct rb_k8s_pod *p; (p = earliest(k)) && p->due_us[next_due(p)] <= now_us;) {
        befall(k, p, next_due(p), p->due_us[next_due(p)]);
        rb_k8s_tend_jobs(k, now_us);
        rb_k8s_place_all(k, now_us);
    }
    rb_k8s_tend_machines(k, now_us);
}

int64_t rb_mock_k8s_next_us(const struct rb_mock_k8s *k)
{
    const struct rb_k8s_pod *p = earliest(k);
    const int64_t pod_us = p ? p->due_us[next_due(p)] : INT64_MAX;
    const int64_t machine_us = rb_k8s_next_machine_us(k, k->advanced_us), job_us = rb_k8s_next_job_us(k);
    const int64_t other_us = machine_us < job_us ? machine_us : job_us;
    return other_us < pod_us ? other_us : pod_us;
}
