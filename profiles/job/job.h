// A tuning job as the user wrote it (job.yaml), with every key resolved to a value. Immutable after reading.
// Source: docs/formats/job.md.
#ifndef RB_PROFILES_JOB_H
#define RB_PROFILES_JOB_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "base/document/json.h"
#include "profiles/job/job_args.h"
#include "profiles/job/job_metric.h"
#include "profiles/job/job_texts.h"
#include "profiles/job/settings.h"
#include "profiles/space/space.h"

enum rb_goal { RB_GOAL_MAXIMIZE, RB_GOAL_MINIMIZE };
enum rb_rungs { RB_RUNGS_CUMULATIVE, RB_RUNGS_ADDITIONAL };
enum rb_brackets_run { RB_BRACKETS_IN_TURN, RB_BRACKETS_SIDE_BY_SIDE };
enum rb_rule { RB_RULE_PROMOTE, RB_RULE_STOP, RB_RULE_SPECULATE };
enum rb_scaling { RB_SCALING_MEASURED, RB_SCALING_LINEAR };
enum rb_spare_gpus { RB_SPARE_UNIFORM, RB_SPARE_BEST, RB_SPARE_SOFTMAX, RB_SPARE_RANDOM, RB_SPARE_NONE };
// SAFE: planned on demand; a run uses spot nodes while it could still end in time on demand if it lost them.
enum rb_spot { RB_SPOT_NEVER, RB_SPOT_ALLOW, RB_SPOT_ONLY, RB_SPOT_SAFE };
enum rb_objective { RB_OBJECTIVE_MIN_COST, RB_OBJECTIVE_MIN_TIME };
// How a start of a trial comes to its end: the script ends itself, or we end it once it has reported and saved.
enum rb_stop { RB_STOP_SELF, RB_STOP_SAVED };
#define RB_CHECKPOINT_EVERY_AUTO   (-1) // as the preemptions of the offer suggest
#define RB_CHECKPOINT_EVERY_UNSAID (-2) // likewise, but the job does not say that its script saves: plans do not count on it
// UNSET: the plan says, by what can be done (rb_plan_set_drift).
enum rb_drift { RB_DRIFT_REPLAN, RB_DRIFT_WARN, RB_DRIFT_STOP, RB_DRIFT_UNSET };

// Who proposes configurations (scheduler.sampler): one of ours, or a program that speaks rb-search/1.
struct rb_sampler_spec {
    const char *type;            // its name; NULL: not given, configurations are drawn from the seed; "command"
    struct rb_settings options;  // its own keys
    const char *command;         // of a program; NULL: one of ours
    int64_t timeout_us;          // the longest wait for one proposal of it
    bool stop_on_failure;        // it failed for good: end the run, or go on with random configurations
};

struct rb_scheduler {
    const char *type;        // a tuner's name
    struct rb_sampler_spec sampler;
    int num_trials;          // grid: 0 means all points; hyperband: 0, its brackets determine it
    int64_t min_resource;    // r
    int64_t max_resource;    // R
    int eta;                 // >= 2
    const char *unit;        // label only
    enum rb_rungs rungs;
    int brackets;            // hyperband, asha: the most aggressive ones, at most s_max + 1
    enum rb_brackets_run brackets_run; // hyperband
    enum rb_rule rule;       // asha: when a trial gives way to others
    struct rb_settings options; // the other keys: its tuner's own (engine/core/tuner.h)
};

// Parts of hypersched that can be switched off one by one. Other policies ignore them.
struct rb_policy_options {
    bool speculation;        // the default of scheduler.rule is speculate; false: stop, the asha of the published comparison
    bool overhead;           // the cost of a restart counts; false: it is taken for 0
    bool admission;          // no new trial that cannot catch up by the deadline; false: trials until the deadline
    enum rb_scaling scaling; // of training with GPUs: as in the profile, or linear
    bool has_exploration;    // admit until a fixed fraction of the time has passed, instead of the rule
    double exploration;      // that fraction, 0..1
    enum rb_spare_gpus allocation; // which trials get the GPUs beyond one atom each
    int resize_interval;     // results of a trial between two of its resizes
    int atom_gpus;           // the unit in which GPUs are assigned
};

struct rb_trial_spec {
    int cpus;                // of one trial, on machines without GPUs; 0: trials need GPUs. Such a job has one size, 1: a slot
    int64_t memory_bytes;    // with cpus: main memory of one trial; 0: not asked for
    int min_gpus, max_gpus;
    const int *sizes;        // allowed GPUs per trial, ascending, within min_gpus..max_gpus, [n_sizes]
    int n_sizes;
    const int *shares;       // allowed trials per GPU, ascending, [n_shares]; {1} unless given
    int n_shares;
    int64_t batch_size, batch_max, batch_max_per_gpu; // 0: not tuned
    const char *lr_scaling;  // NULL: none; adascale | sqrt | linear
    int max_nodes;
    int max_restarts;
    int64_t timeout_us;      // no report for this long: hung
    enum rb_stop stop;
    struct rb_trial_args args;
};

// How Slurm is asked for nodes (docs/slurm.md).
struct rb_slurm_spec {
    const char *shared_dir;       // absolute, the same on this machine and on the nodes; NULL: none
    // Of slurmrestd: https://host:port, http on loopback, unix:/path; NULL: from RB_SLURM_URL.
    const char *url;
    const char *account;          // NULL: the user's default
    int cpus_per_gpu;             // 0: the partition's default
    int64_t memory_per_gpu_bytes; // 0: the partition's default
    int64_t memory_per_cpu_bytes; // from trial.cpus and trial.memory, no key of its own; 0: the partition's default
};

// Of a pod: nodes with this taint may run it.
struct rb_toleration {
    const char *key, *operator, *value, *effect; // NULL: Kubernetes' default
};

// What a node of the plan is in a cluster of Kubernetes.
enum rb_kubernetes_as { RB_KUBERNETES_AS_POD, RB_KUBERNETES_AS_JOB };

// How Kubernetes is asked for nodes (docs/kubernetes.md).
struct rb_kubernetes_spec {
    const char *context;          // of the kubeconfig; NULL: the NAME of infra k8s/NAME
    const char *namespace;        // NULL: the context's
    enum rb_kubernetes_as as;
    const char *queue;            // the LocalQueue of Kueue; NULL: none
    const struct rb_key_value *node_selector; // [n_node_selector]
    int n_node_selector;
    const struct rb_toleration *tolerations; // [n_tolerations]
    int n_tolerations;
    const char *priority_class, *service_account;
    struct rb_string_list image_pull_secrets;
    int cpus_per_gpu;             // 0: not requested
    int64_t memory_per_gpu_bytes; // 0: not requested
    int64_t shm_bytes;            // limit of /dev/shm, which is memory; 0: none but the pod's
    int64_t grace_us;             // between a pod's notice and its end; 0: 30 s
    int64_t queue_timeout_us;     // for a machine; 0: 30 min, or in a queue as long as it takes
    int64_t memory_per_cpu_bytes; // from trial.cpus and trial.memory, no key of its own; 0: not requested
    int64_t release_us;           // a machine outlives its last pod by this, and is billed; 0: as the profile says
    bool has_price;               // what pods cost that no price list names
    int64_t uusd_per_gpu_hour;    // likewise
};

// The machine that is made for a controller (docs/howto/close-the-laptop.md).
struct rb_controller_spec {
    const char *instance_type;    // NULL: the provider's own small one
    const char *instance_profile; // NULL: that of the nodes
    int64_t keep_us;              // from the end of the run to its own; 0: an hour
};

struct rb_reservation;
struct rb_resources {
    struct rb_string_list infra;           // "aws/us-east-1", "local", ...; at least one
    struct rb_string_list instance_types;  // empty: any
    struct rb_string_list accelerators;    // empty: any
    enum rb_spot spot;
    int max_nodes;
    const struct rb_key_value *image_ids;  // infra -> image
    int n_image_ids;
    int64_t disk_bytes;                    // 0: no disk beyond the image's
    const char *ssh_user;
    int ssh_port;
    struct rb_string_list subnets, security_groups; // aws
    const char *instance_profile;                    // aws, NULL: none
    struct rb_controller_spec controller;            // all zero: not said
    struct rb_slurm_spec slurm;                      // likewise: none
    struct rb_kubernetes_spec kubernetes;            // likewise
    struct rb_reservation *reservations;             // profiles/catalog/reservation.h
    int n_reservations;
};

// Where results go besides the run's own directory (docs/howto/trackers.md).
enum rb_sink_kind { RB_SINK_MLFLOW, RB_SINK_TENSORBOARD, RB_SINK_OPTUNA, RB_SINK_CSV, RB_SINK_PROMETHEUS };
struct rb_sink_spec {
    enum rb_sink_kind kind;
    const char *uri, *experiment; // mlflow; NULL: MLFLOW_TRACKING_URI, the job's name
    const char *path;             // file or directory as written, relative to the job file; NULL: in the run's directory
    const char *schema;           // optuna: "3.2" or "3.0"
};
struct rb_sink_list {
    const struct rb_sink_spec *items;
    int n;
};

// Who gets notices about a run (docs/howto/notify.md).
enum rb_notice_kind {
    RB_NOTICE_STARTED,
    RB_NOTICE_FINISHED,
    RB_NOTICE_NODE_LOST,
    RB_NOTICE_CUT_OFF,
    RB_NOTICE_RECONNECTED,
    RB_NOTICE_LATE,
    RB_NOTICE_BUDGET_80,
    RB_NOTICE_RESUMED,
    RB_NOTICE_INSTANCES_LEFT,
    RB_NOTICE_MOVED,
    RB_NOTICE_CREDENTIALS_ENDING,
    RB_NOTICE_KINDS,
};
enum rb_hook_kind { RB_HOOK_COMMAND, RB_HOOK_WEBHOOK, RB_HOOK_EMAIL };
struct rb_hook_spec {
    enum rb_hook_kind kind;
    const char *target;  // the command, the URL or "$NAME" for a URL in the environment, the address
    const char *secret;  // webhook: the variable that holds the key of its signatures; NULL: not signed
    bool is_slack;       // webhook: the body is Slack's
    unsigned on;         // bits: 1 << enum rb_notice_kind
};
struct rb_hook_list {
    const struct rb_hook_spec *items;
    int n;
};

struct rb_guess; // profiles/guess/guess.h

struct rb_job {
    const char *name;
    const char *workdir;     // as written, relative to the job file
    uint64_t seed;
    const char *metric_name;
    enum rb_goal goal;
    bool has_target;
    double target;
    struct rb_report_form form; // how reports look
    struct rb_space space;
    struct rb_scheduler scheduler;
    const char *policy;
    struct rb_policy_options policy_options;
    const char *profile;     // name in the store
    struct rb_trial_spec trial;
    const struct rb_key_value *envs;
    int n_envs;
    struct rb_string_list secrets; // names
    const struct rb_key_value *images; // infra -> container image, or "*" for all (profiles/job/job_image.h)
    int n_images;
    const char *image_user, *image_password; // names of variables, for the images' registry; NULL, both: none
    const char *setup;       // NULL: none
    const char *run;
    const char *checkpoint_dir;  // relative to the trial's directory
    const char *checkpoint_uri;  // NULL: the controller keeps checkpoints
    int64_t checkpoint_bytes;    // 0: unknown
    int64_t checkpoint_every_us; // how often a trial is to save midway; 0: not; or one of the above
    bool in_place;               // the folder begins as a copy of the checkpoint that is resumed
    struct rb_string_list checkpoint_files; // globs below the folder; none: all of it
    bool starts_over;            // checkpoint.resume is false: every start trains from the beginning
    const char *data_fetch;      // run on every new node after `setup`, to bring the data there; NULL: none
    const char *data_mount;      // absolute; where the data is on a node. NULL: nowhere, or with data_fetch in the node's home
    bool data_stays;             // `data.stay`: all nodes of a plan are in one place
    int64_t data_bytes;          // 0: nodes read no data, or its size is not given
    int64_t data_uusd_per_gb;
    int64_t data_bytes_per_s;    // 0: the time of reading is unknown, and is not charged
    struct rb_resources resources;
    struct rb_sink_list sinks;
    struct rb_hook_list hooks;
    int64_t deadline_us;     // duration from the start of rbrun; -1: none
    int64_t deadline_at_us;  // unix microseconds if an instant was given; else -1 (deadline_us is then filled by the main)
    int64_t budget_uusd;     // -1: none
    double confidence;       // for `confidence: mean`: the default, which is not used
    bool on_average;         // `confidence: mean`: the mean time must keep the deadline
    enum rb_objective objective;
    enum rb_drift on_drift;
    bool approval_required;  // `approval: required`: rbrun begins no run of it without an approval
    const struct rb_guess *guess; // used where there is no profile; NULL: none
};

// Reads and validates; strings are copied into `arena`. `overrides` are "scheduler.eta=4" texts from --set, applied
// to the tree first (value in YAML syntax); errors in them name the flag. The node may come from YAML or from
// plan.json's resolved config: the same reader.
bool rb_job_read(const struct rb_node *root, const char *const *overrides, int n_overrides, struct rb_arena *arena,
                 struct rb_job *out, struct rb_err *err);
// File -> job; deadline, budget, confidence flags go through `overrides` as well.
bool rb_job_load(const char *path, const char *const *overrides, int n_overrides, struct rb_arena *arena,
                 struct rb_job *out, struct rb_err *err);
// If the job gave an instant: sets the deadline from now_us on. Error: it has passed.
bool rb_job_settle_deadline(struct rb_job *job, int64_t now_us, struct rb_err *err);
// Sets when the job's reservations open and close in a run that starts now.
void rb_job_settle_reservations(struct rb_job *job, int64_t now_us);
// The resolved job, canonical order, every key (but approval where none is needed: digests of older jobs stay as they are); rb_job_read(rb_job_write(x)) = x.
void rb_job_write(const struct rb_job *job, struct rb_json *j);

// Fails with "not supported yet: ..." for valid keys that would change the result and are not supported yet (tuners,
// policies, batch tuning, GPU sharing, ...). Called by rbplan, rbrun and rbsim, not by --check.
bool rb_job_check_supported(const struct rb_job *job, struct rb_err *err);

// How long a new node reads the job's data by data.bandwidth: 0 if there is none, or no bandwidth is given.
int64_t rb_job_data_us(const struct rb_job *job);
// Do nodes have a folder of data (RB_DATA_DIR)?
bool rb_job_has_data_dir(const struct rb_job *job);

#endif
