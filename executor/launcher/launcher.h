// Runs work on nodes: prepares a node, starts a trial's processes on its slots, follows their output, saves their
// checkpoint and kills the gang. There are four launchers: ssh (any cloud), local (this machine), k8s (pods) and slurm
// (allocations). Every call is idempotent, so that a restarted controller repeats it: a task that already runs is
// followed from its first line.
#ifndef RB_EXECUTOR_LAUNCHER_H
#define RB_EXECUTOR_LAUNCHER_H

#include "base/errors/err.h"
#include "base/loop.h"
#include "engine/core/placement.h"
#include "executor/transport/node_switch.h"
#include "profiles/job/job.h"

#include <stddef.h>

struct rb_transport;
struct rb_launch_node {
    int node;
    const char *infra;            // where it is: "aws/us-east-1", "k8s/lab"
    const char *instance_id;      // HostKeyAlias: an address used again by another machine is noticed
    const char *address, *user;
    int port;
    const char *host_key;         // "ssh-ed25519 AAAA...": the only one accepted
    int gpus;
    const struct rb_transport *transport; // how it is reached; NULL: the launcher's
};

struct rb_task {
    int trial, attempt, stage;    // attempt: running number of the trial's starts in this run, never used twice
    const struct rb_slot *slots;  // rank order; slots[0].node is node rank 0; [n_slots]
    int n_slots;
    const struct rb_key_value *env; // common to all ranks, [n_env]; RB_PARAMS_JSON becomes RB_PARAMS_FILE; per-rank
                                    // variables are added by the launcher:
    int n_env;                      // RB_NODE_RANK, RB_GPUS_PER_NODE, CUDA_VISIBLE_DEVICES, RB_*_DIR and files
    const char *command;          // job.run, for /bin/sh -c in the work directory; an unquoted $RB_ARGS in it becomes the
                                  // words of env's RB_ARGS (profiles/script/shell_text.h)
    const char *words;            // of rb_trial_words; NULL: none
    const char *resume_from;      // what `saved` reported for an earlier stage (archive or URI), NULL: first start
    const char *checkpoint_uri;   // NULL: the controller keeps checkpoints
    bool on_spot;                 // its nodes ask their cloud whether they are about to be reclaimed
};

// Events, reported from the loop. Bytes are untrusted. Late events of killed or forgotten tasks do not come.
struct rb_launcher_events {
    void *ctx;
    void (*prepared)(void *ctx, int node, const struct rb_err *err);   // err NULL: reachable, work directory there, set up, data there
    void (*line)(void *ctx, int trial, int attempt, const char *bytes, size_t n); // rank 0: stdout or RB_METRICS_FILE; cut at
                                                                        // RB_LIMIT_METRIC_LINE; replayed from the first
                                                                        // after a reconnect. Ends at a line feed or a
                                                                        // carriage return
    // The next bytes of a file of metric.file, whose path below it is `name`; restart, n 0: it begins from its first byte, as
    // every file does. May be NULL.
    void (*file)(void *ctx, int trial, int attempt, const char *name, const char *bytes, size_t n, bool restart);
    // The files of checkpoint.files begin to change (name NULL), or have changed and rested, and a copy of them that is to be kept
    // has this name for `keep`. Comes again after a reconnect, between the same lines. May be NULL.
    void (*rested)(void *ctx, int trial, int attempt, const char *name);
    // After a reconnect: what was reported by `line` and `file` comes again, from the first byte. May be NULL.
    void (*again)(void *ctx, int trial, int attempt);
    void (*exited)(void *ctx, int trial, int attempt, int exit_code);  // whole gang has ended; first non-zero code wins, 75 only over 0;
                                                                        // comes after its last line, once per start
                                                                        // call
    void (*saved)(void *ctx, int trial, int attempt, const char *checkpoint, const struct rb_err *err); // <dest>.tar or URI
    void (*killed)(void *ctx, int trial, int attempt);
    void (*unreachable)(void *ctx, int node, const char *why);         // it gave up after several reconnect attempts
    // After echo: all that the trial had printed by then was reported, and its node answers. May be NULL.
    void (*echoed)(void *ctx, int trial, int attempt);
    // What the trial needs on the node before its script begins could not be written there: the node's disk is full or broken,
    // and no trial causes it. why: in strerror's words. May be NULL.
    void (*no_room)(void *ctx, int node, int trial, const char *why);
    // The cloud has announced that it takes the node back after `seconds`. Comes again after a reconnect. May be NULL.
    void (*leaving)(void *ctx, int node, int64_t seconds);
    // The node begins to fetch the job's data, which may take hours (on), or its connection is lost meanwhile. May be NULL.
    void (*fetching)(void *ctx, int node, bool on);
    // It has fetched the data, and this is how long the command ran on it: before `prepared`. May be NULL.
    void (*fetched)(void *ctx, int node, int64_t us);
    // The image of its container is there, and was pulled for so long: before `prepared`. May be NULL.
    void (*pulled)(void *ctx, int node, int64_t us);
    // The node is not ready yet: why the last try failed and what may help, or what the launcher is doing.
    void (*waiting)(void *ctx, int node, const char *why);
    // What a heartbeat found about the node's dead man's switch. Not called where nodes have none. May be NULL.
    void (*switched)(void *ctx, int node, const struct rb_switch_report *report);
    // This machine is full (RB_E_MACHINE_FULL): a command for that trial (-1: for a node) could not be started here,
    // and is tried again until it can be. Neither the trial nor the node causes it. May be NULL.
    void (*held_up)(void *ctx, int trial, const struct rb_err *err);
    // After keep: the checkpoint of that resource is safe (<dest>.tar or URI), or err says why it is not. May be NULL.
    void (*kept)(void *ctx, int trial, int attempt, int64_t resource, const char *checkpoint, const struct rb_err *err);
    // Before `saved` and `kept`: the checkpoint holds a symbolic link of this name, which rb_checkpoint_extract will refuse. May
    // be NULL.
    void (*linked)(void *ctx, int trial, const char *name);
};

struct rb_launcher_config {
    const struct rb_loop *loop;
    const struct rb_job *job;
    const char *run_id;
    const char *run_dir;          // controller side: keys/, logs/, checkpoints/
    const char *workdir;          // absolute
    int reconnects;               // tries to reconnect to a node before it is given up; 0: 8, about 30 s
    // Replaces a node that is lent by the machine behind it: its place, id, address and host key. NULL: no nodes are lent.
    void (*find_machine)(void *ctx, struct rb_launch_node *node);
    void *machine_ctx;
    const struct rb_key_value *containers; // borrowed: infra -> image of the container on each node there, [n_containers]
    int n_containers;
    const struct rb_transport *transport; // of nodes that name none; NULL: each names its own
    void *way;                    // of rb_transport.open; the launcher fills it in
    struct rb_launcher_events events;
};

struct rb_launcher;
struct rb_launcher_ops {
    void (*prepare)(struct rb_launcher *l, const struct rb_launch_node *node);
    void (*start)(struct rb_launcher *l, const struct rb_task *task);
    // After exited: the checkpoint directory becomes the archive <dest>.tar on the controller (tmp, fsync, rename), or
    // goes to checkpoint.uri. An archive is untrusted: rb_checkpoint_extract looks at every name in it first.
    void (*save)(struct rb_launcher *l, int trial, int attempt, const char *dest);
    // While it runs: the same for the folder `name` of the checkpoint directory, the state at `resource`, which is reported as
    // `kept`. The folder is removed once another one is kept, and never becomes part of what `save` saves. One at a time: a
    // later call takes the place of one that waits. dest NULL: the folder is only removed. A resource that has not risen since
    // the last call is a repeated call. name: rb_is_checkpoint_name, or of `rested`.
    void (*keep)(struct rb_launcher *l, int trial, int attempt, const char *name, int64_t resource, const char *dest);
    // Removes a checkpoint that `saved` or `kept` has reported, if it is a URI; archives are the caller's. One after the other,
    // until the start ends. Not reported.
    void (*discard)(struct rb_launcher *l, int trial, int attempt, const char *uri);
    // Creates its RB_PREEMPT_FILE on every node of the gang, with this line in it; the script decides whether and when it
    // stops. A file that is there already stays as it is.
    void (*yield)(struct rb_launcher *l, int trial, int attempt, const char *why);
    // Of a job with trial.stop: saved. Node rank 0 waits until files of checkpoint.files have changed since now (exit_code 0)
    // or are there at all (75) and have then rested for rest_s, keeps a copy of them for `save`, and ends the trial, which has
    // then ended with exit_code. Repeated: only rest_s counts; 0 goes before 75.
    void (*stop)(struct rb_launcher *l, int trial, int attempt, int exit_code, double rest_s);
    // Is it silent, or is it not heard? `echoed` comes behind all that it has printed, if the node of rank 0 answers; if not, nothing
    // comes. A later call takes the place of one that waits.
    void (*echo)(struct rb_launcher *l, int trial, int attempt);
    // Ends its processes on every node and reports `exited` with their exit code; after that it can be saved.
    void (*end)(struct rb_launcher *l, int trial, int attempt);
    void (*kill)(struct rb_launcher *l, int trial, int attempt);
    // The node is ending or has ended: closes its connection, drops its tasks and kills the rest of their gangs.
    void (*forget)(struct rb_launcher *l, int node);
    // Sets the dead man's switch: the node ends itself in this many seconds (0: at its present deadline) unless another
    // heartbeat comes; `switched` reports whether that is so.
    void (*heartbeat)(struct rb_launcher *l, int node, int64_t shutdown_in_s);
    void (*destroy)(struct rb_launcher *l);           // closes connections; processes on nodes go on
};
struct rb_launcher {
    const struct rb_launcher_ops *ops; // first member of every implementation
};

// How many files this process may have open at once while it follows n_ranks processes of trials on n_nodes nodes: per
// rank stdout, stderr and log, one more while it is started or asked to stop, and two while a midway checkpoint is archived;
// per node two commands; and the files of the run itself (standard streams, event loop, journal, connections to clouds and
// to viewers).
enum { RB_LAUNCHER_FILES_OF_RUN = 112, RB_LAUNCHER_FILES_OF_RANK = 6, RB_LAUNCHER_FILES_OF_NODE = 2 };
int64_t rb_launcher_open_files(int64_t n_ranks, int64_t n_nodes);

// Unpacks an archive made by save into dir (made, must not exist). Refused: absolute names, "..", links, devices.
bool rb_checkpoint_extract(const char *archive, const char *dir, struct rb_err *err);

struct rb_launcher *rb_launcher_create(const struct rb_launcher_config *config);

#endif
