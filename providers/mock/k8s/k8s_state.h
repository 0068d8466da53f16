// The cluster, which the files of this folder share. No other file includes it.
#ifndef RB_PROVIDERS_MOCK_K8S_STATE_H
#define RB_PROVIDERS_MOCK_K8S_STATE_H

#include "providers/mock/k8s/mock_k8s.h"

#define RB_K8S_GPU         "nvidia.com/gpu"
#define RB_K8S_QUEUE_LABEL "kueue.x-k8s.io/queue-name"

// Things that will happen to a pod, each at most once at a time; INT64_MAX: not planned.
enum rb_k8s_due {
    RB_K8S_DUE_SCHEDULED, // its machine is there
    RB_K8S_DUE_START,     // its image is there
    RB_K8S_DUE_DEADLINE,  // activeDeadlineSeconds
    RB_K8S_DUE_DIE,       // its machine dies
    RB_K8S_DUE_SILENT,    // the cluster notices
    RB_K8S_DUE_EVICT,     // and gives the pod up
    RB_K8S_DUE_TAKE,      // preempted
    RB_K8S_DUE_COLLECT,   // no owner is left
    RB_K8S_DUE_REPLACE,   // another pod of the same name takes its place
    RB_K8S_DUE_KILL,      // the grace period is over
    RB_K8S_DUE_REMOVE,    // the object goes
    RB_K8S_N_DUE,
};

struct rb_k8s_machine {
    const char *name;
    const struct rb_offer *offer;
    int64_t ready_us, idle_us; // idle_us: since when it has had no pod
    bool is_dead, is_gone;
};

struct rb_k8s_container {
    const char *image_id;                  // "": not pulled
    const char *waiting, *waiting_message; // reason, NULL: it does not wait
    int64_t started_us, finished_us;       // -1: not
    int exit_code;
};

struct rb_k8s_pod {
    struct rb_doc doc, patched;                                 // as admitted; labels and annotations since a patch
    const struct rb_node *spec, *labels, *annotations, *owners; // of it; NULL: none
    const char *name;
    char uid[40];
    uint64_t version;
    int64_t created_us, deletion_us, grace_us; // deletion_us -1: not being deleted
    int64_t milli_cpu, milli_memory, gpus;     // requested
    bool is_gated, is_managed, has_workload;   // by Kueue
    struct rb_k8s_machine *machine;            // NULL: none yet
    int64_t scheduled_us;                      // -1: not
    struct rb_k8s_container container;
    bool has_process, is_silent;                 // is_silent: its machine does not answer
    const char *reason, *message;                // of the status
    const char *disruption, *disruption_message; // NULL: none
    int64_t disruption_us;
    bool is_hopeless; // it never finds a machine
    bool was_tried;   // a machine was looked for
    bool is_gone;     // the object
    bool took_place;  // of another of its name
    int64_t due_us[RB_K8S_N_DUE];
    struct rb_chaos_verdict fate;
    struct rb_cloud_instance *instance;
    const struct rb_k8s_job *job; // that made it; NULL: none
    bool is_counted;              // the Job knows that it has ended
};

struct rb_k8s_job {
    struct rb_doc doc; // as admitted
    const struct rb_node *spec;
    const char *name;
    char uid[40];
    uint64_t version;
    int64_t created_us;
    int failed, succeeded;                    // pods
    const char *condition, *reason, *message; // NULL: it goes on
    int64_t condition_us;
    int64_t retry_us, collect_us; // a pod is made; no owner is left. INT64_MAX: not planned
    bool is_gone;
};

struct rb_k8s_lease {
    struct rb_doc doc, patched; // the latter: labels and annotations since a patch
    const struct rb_node *labels, *annotations, *spec;
    const char *name;
    char uid[40];
    uint64_t version;
    int64_t created_us;
    bool is_gone;
};

struct rb_k8s_ref { const char *kind, *api_version, *name, *uid; }; // of an object

struct rb_k8s_event {
    struct rb_k8s_ref of;
    const char *name, *type, *reason, *message, *source;
    uint64_t version;
    int64_t first_us, last_us;
    int count;
};

// A change that watches show.
struct rb_k8s_change {
    uint64_t version;
    const char *type;             // "ADDED", "MODIFIED", "DELETED"
    const struct rb_k8s_pod *pod; // what it is about
    char *object;                 // JSON
};

struct rb_mock_k8s {
    struct rb_cloud *cloud;
    const struct rb_cloud_kubernetes *config;
    const char *token;
    struct rb_arena arena;
    struct rb_k8s_pod **pods;         // [n_pods], ever made
    struct rb_k8s_machine **machines; // [n_machines], ever made
    struct rb_k8s_lease **leases;     // [n_leases], ever made
    struct rb_k8s_job **jobs;         // [n_jobs], ever made
    struct rb_k8s_event **events;     // [n_events]
    struct rb_k8s_change *changes;    // [n_changes], the latest ones
    int n_pods, n_machines, n_leases, n_jobs, n_events, n_changes;
    uint64_t version, forgotten; // the latest change; the latest that watches cannot begin at any more
    struct rb_k8s_order *orders; // [n_orders]
    int n_orders, next_order;
    uint32_t n_draws;
    bool needs_placing;
    int64_t advanced_us; // pools have been looked at up to here
    const char *account_dir; // NULL: pods get no account
    int account_port;
    rb_mock_k8s_log_fn *log;
    void *log_arg;
};

// --- objects (k8s_objects.c) ---

void rb_k8s_make_uid(struct rb_mock_k8s *k, char out[static 40]);
struct rb_k8s_pod *rb_k8s_find_pod(const struct rb_mock_k8s *k, const char *name); // NULL: none of this name is there
struct rb_k8s_pod *rb_k8s_find_uid(const struct rb_mock_k8s *k, const char *uid);  // gone ones, too
struct rb_k8s_lease *rb_k8s_find_lease(const struct rb_mock_k8s *k, const char *name);
bool rb_k8s_any_owner_lives(const struct rb_mock_k8s *k, const struct rb_node *owners); // or none is named
// Adds a pod; doc is taken over.
struct rb_k8s_pod *rb_k8s_add_pod(struct rb_mock_k8s *k, struct rb_doc *doc, int64_t now_us);
void rb_k8s_changed(struct rb_mock_k8s *k, struct rb_k8s_pod *p, const char *type, int64_t now_us);
void rb_k8s_tell(struct rb_mock_k8s *k, const struct rb_k8s_pod *p, const char *type, const char *reason,
                 int64_t now_us, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void rb_k8s_tell_of(struct rb_mock_k8s *k, const struct rb_k8s_ref *of, const char *type, const char *reason,
                    int64_t now_us, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
int64_t rb_k8s_requested(const struct rb_node *spec, const char *which, const char *resource); // thousandths; 0: none
const char *rb_k8s_phase(const struct rb_k8s_pod *p);
bool rb_k8s_has_ended(const struct rb_k8s_pod *p);                   // its container has
const char *rb_k8s_text(const struct rb_node *map, const char *key); // NULL: absent

// --- life (k8s_life.c) ---

// Marks it for deletion; grace_us -1: the pod's own. Repeating may only shorten it.
void rb_k8s_delete_pod(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t grace_us, int64_t now_us);
void rb_k8s_release_pod(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t now_us); // takes Kueue's finalizer off
void rb_k8s_disrupt(struct rb_k8s_pod *p, const char *reason, const char *message, int64_t now_us);
void rb_k8s_owner_gone(struct rb_mock_k8s *k, const char *uid, int64_t now_us); // a Lease, a Job
void rb_k8s_order_signal(struct rb_mock_k8s *k, const struct rb_k8s_pod *p, int signal_number);
void rb_k8s_order_start(struct rb_mock_k8s *k, struct rb_k8s_pod *p);

// --- Jobs (k8s_job_controller.c) ---

struct rb_k8s_job *rb_k8s_find_job(const struct rb_mock_k8s *k, const char *name);
// A Job that is not there yet; doc is taken over.
struct rb_k8s_job *rb_k8s_new_job(struct rb_mock_k8s *k, struct rb_doc *doc, int64_t now_us);
void rb_k8s_add_job(struct rb_mock_k8s *k, struct rb_k8s_job *job);
void rb_k8s_remove_job(struct rb_mock_k8s *k, struct rb_k8s_job *job, bool with_pods, int64_t now_us);
void rb_k8s_collect_jobs(struct rb_mock_k8s *k, const char *uid, int64_t now_us); // of an owner that is gone
struct rb_k8s_job_pods { int active, ready, terminating; }; // that have not ended
struct rb_k8s_job_pods rb_k8s_job_pods(const struct rb_mock_k8s *k, const struct rb_k8s_job *job);
// The pod that it makes; *out: the caller finishes it.
bool rb_k8s_write_job_pod(const struct rb_k8s_job *job, const char *suffix, struct rb_doc *out);
void rb_k8s_write_pod_labels(const struct rb_k8s_job *job, const struct rb_node *labels, struct rb_json *j);
void rb_k8s_tend_jobs(struct rb_mock_k8s *k, int64_t now_us);
int64_t rb_k8s_next_job_us(const struct rb_mock_k8s *k);

// --- machines (k8s_schedule.c) ---

// Would such a machine run the pod if it were empty? machine: its name; "": a new one.
bool rb_k8s_suits(const struct rb_k8s_pod *p, const struct rb_offer *o, const char *machine);
void rb_k8s_place_all(struct rb_mock_k8s *k, int64_t now_us);
int64_t rb_k8s_next_machine_us(const struct rb_mock_k8s *k, int64_t after_us); // a pool changes, an idle one goes
void rb_k8s_tend_machines(struct rb_mock_k8s *k, int64_t now_us);
int64_t rb_k8s_draw_us(struct rb_mock_k8s *k, const struct rb_dist *d);

// --- writing (k8s_write.c) ---

void rb_k8s_begin_object(struct rb_json *j, const char *version, const char *kind, bool is_item);
// Begins metadata; the caller ends it. version 0: of a dry run.
void rb_k8s_begin_meta(struct rb_json *j, const char *space, const char *name, const char *uid, uint64_t version,
                       int64_t created_us);

void rb_k8s_write_pod(const struct rb_k8s_pod *p, const struct rb_mock_k8s *k, bool is_item, struct rb_json *j); // of a list
void rb_k8s_write_lease(const struct rb_k8s_lease *l, const struct rb_mock_k8s *k, bool is_item, struct rb_json *j);
void rb_k8s_write_event(const struct rb_k8s_event *e, const struct rb_mock_k8s *k, struct rb_json *j);
// place NULL: no cloud's; minor: of the server's version
void rb_k8s_write_machine(const struct rb_k8s_machine *m, const char *place, int minor, struct rb_json *j);
void rb_k8s_instant(struct rb_json *j, const char *key, int64_t unix_us); // whole seconds
// A pod's own spec, as a container is started with; its texts live in the arena.
void rb_k8s_read_start(const struct rb_mock_k8s *k, const struct rb_k8s_pod *p, struct rb_arena *arena,
                       struct rb_pod_start *out);

#endif
