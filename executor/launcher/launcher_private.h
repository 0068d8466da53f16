// The launcher's nodes and tasks; inside the launcher only. launcher.c wires; launcher_node.c prepares nodes, in a container
// if the job has an image (launcher_container.c) and with the job's data on them (launcher_data.c); launcher_task.c starts,
// follows and ends tasks; launcher_yield.c asks them to stop; launcher_echo.c asks whether they are silent; launcher_beat.c sends heartbeats; checkpoint.c moves
// checkpoints.
#ifndef RB_EXECUTOR_LAUNCHER_PRIVATE_H
#define RB_EXECUTOR_LAUNCHER_PRIVATE_H

#include "base/arena.h"
#include "base/text/buf.h"
#include "executor/launcher/launcher.h"
#include "executor/transport/process.h"
#include "executor/transport/transport.h"

enum {
    RB_RECONNECTS = 8,             // unless the caller says otherwise
    RB_EXIT_YIELDED = 75,          // the contract with training scripts: checkpointed and gave way
    RB_EXIT_VANISHED = 137,        // the supervisor itself was killed: no exit line will ever come
    RB_LOG_LIMIT_BYTES = 64 << 20, // per attempt; more is dropped with a note
};

struct rb_launcher_node {
    struct rb_launcher_node *next;
    struct rb_launcher_impl *l;
    struct rb_launch_node spec;    // strings owned
    char *names[5];                // the strings of spec
    struct rb_process *process;    // preparing
    struct rb_process *beating;    // a heartbeat that has not been answered
    struct rb_buf beat_text;       // what it has printed
    const char *image;             // of its container, the config's; NULL: work runs on the node itself
    struct rb_buf printed;         // by the step of its preparation that is under way, no more than is read of it
    bool prepared, met, fetching;
    bool kept; // its container may outlive us: heartbeats before it is prepared
    int tries;
    uint64_t timer;
};

struct rb_rank {
    struct rb_launcher_task *task;
    int index;
    struct rb_launcher_node *node;
    struct rb_process *process;    // loading, running or killing
    struct rb_buf line;            // of the output, not yet ended
    bool line_cut;
    bool ended;
    int exit_code;
    int tries;                     // since its last output
    bool heard;                    // a line of its output was reported
    bool unheard;                  // its connection was lost, and no output came over a new one
    uint64_t timer;
    struct rb_process *asking;     // asks it to give way; beside `process`, which keeps following
    bool ask_again;                // what it is asked for has changed meanwhile
    int ask_tries;
    uint64_t ask_timer;
    int log_fd;
    size_t logged_bytes;
};

// A checkpoint on its way from the node of rank 0.
struct rb_saving {
    struct rb_launcher_task *task;
    char *to;                      // the archive being written, or a URI; NULL: none is on its way
    char *name;                    // its folder in the checkpoint directory; NULL: what the start has left
    int64_t resource;              // of a named one
    size_t n_discards;             // bytes of task->announced: folders that the node removes first
    int fd;
    struct rb_process *process;
    uint64_t timer;
    int tries;
    int64_t too_little;            // bytes: with so much room the disk was full before it was whole
};

// A word on its way into the output of the task and back.
struct rb_echo {
    char word[24];                 // "": none is awaited
    struct rb_process *process;
    uint64_t timer;
    int tries;
};

struct rb_launcher_task {
    struct rb_launcher_task *next;
    struct rb_launcher_impl *l;
    int trial, attempt, stage, n_ranks;
    struct rb_rank *ranks;
    uint64_t *gpus;                // bit mask of each rank
    char *command, *words, *resume_from, *uri;
    struct rb_key_value *env;      // owned
    int n_env;
    char nonce[33];
    int first_failure;             // exit code of the first rank that failed
    char *yield_why;               // the line of its RB_PREEMPT_FILE; NULL: it was not asked to give way
    bool on_spot;
    int stop_code;                 // it was asked to stop once it has saved: with which exit code; -1: it was not
    double stop_rest_s;
    bool breaking;                 // a rank failed: the others are being killed
    bool killing, exited;
    bool dead;                     // dropped: only its memory is left, until the loop continues
    void (*loaded)(struct rb_launcher_task *task); // what to do once the checkpoint is on every node
    int n_busy;                    // kill, load or save commands under way
    struct rb_saving save, keep;   // what it has left; a midway checkpoint
    struct rb_saving waiting;      // for `keep`: only name, to, resource
    struct rb_echo echo;
    int64_t announced_to;          // resource of the last midway checkpoint, -1: none
    struct rb_buf announced;       // names of folders that may still be there, each with a blank behind it
    struct rb_process *discarding;
    struct rb_buf discards;        // URIs that are removed after it, a line each
};

// An event that is reported from the loop, never from inside the call that caused it: its receiver may call again at
// once.
struct rb_launcher_pending {
    struct rb_launcher_pending *next;
    struct rb_launcher_impl *l;
    uint64_t timer;
    enum { RB_EVENT_PREPARED, RB_EVENT_EXITED, RB_EVENT_SAVED, RB_EVENT_KEPT, RB_EVENT_KILLED, RB_EVENT_HELD_UP } what; // the first four: failed
    int node, trial, attempt;
    int64_t resource;
    struct rb_err err;
};

struct rb_launcher_impl {
    struct rb_launcher base;
    struct rb_launcher_config config; // strings owned
    const struct rb_transport *opened; // whose config.way it is, NULL: none yet
    char *bundle_path;             // work directory and node script, made once
    char bundle_digest[65];
    struct rb_launcher_node *nodes;
    struct rb_launcher_task *tasks;
    struct rb_launcher_pending *events; // on their way
    struct rb_launcher_task *graves; // dropped tasks
    uint64_t free_timer;               // timer
    bool destroyed;                    // nodes are left as they are
};

struct rb_launcher_node *rb_launcher_find_node(struct rb_launcher_impl *l, int node);
struct rb_launcher_task *rb_launcher_find_task(struct rb_launcher_impl *l, int trial, int attempt);

// Runs `remote` on the node. The options' argv is filled in here.
bool rb_launcher_remote(struct rb_launcher_impl *l, struct rb_launcher_node *node, const char *remote,
                        struct rb_process_options *options, struct rb_process **out, struct rb_err *err);
// "sh rb/<run>/node VERB ARGS..." quoted, NULL-terminated list; in the node's container, if it has one.
void rb_launcher_node_command(const struct rb_launcher_node *node, struct rb_buf *out, const char *const *words);
// launcher_container.c: makes the node's container ready, if it has one, then sets it up (or reports that it cannot be prepared).
void rb_launcher_make_container(struct rb_launcher_node *node);
void rb_launcher_set_up(void *node);
void rb_launcher_node_printed(void *node, const char *bytes, size_t n); // keeps output as `printed`
// The caller may fill in the returned value until the loop continues.
struct rb_launcher_pending *rb_launcher_report(struct rb_launcher_impl *l, int what, int trial, int attempt);
// True if the error is that this machine is full: it is reported, and fn will try again. trial -1: a node's command.
bool rb_launcher_hold_up(struct rb_launcher_impl *l, const struct rb_err *err, int trial, uint64_t *timer, rb_loop_fn *fn,
                         void *arg);
// The same if a full machine ended a command that could be started: ssh, or on this machine the node's own shell. node NULL:
// it has gone.
bool rb_launcher_held_up(const struct rb_launcher_node *node, int code, const char *said, int trial, uint64_t *timer, rb_loop_fn *fn,
                         void *arg);
// Reports that the rank's node is given up, with ssh's last message.
void rb_launcher_report_unreachable(const struct rb_rank *r, const char *said);
// If that is why a command for the rank's trial has failed: reports that its node's disk is full or broken. The receiver may
// drop the task.
bool rb_launcher_report_no_room(const struct rb_rank *r, const char *said);
// Delay before try n: 0.25 s doubling to 8 s.
int64_t rb_launcher_backoff_us(int tries);
// Appends `export NAME='value'` lines.
void rb_launcher_env_text(const struct rb_key_value *env, int n, struct rb_buf *out);
// The end of such a text: the command, if there is one, and the line by which the node knows that all of it has come.
void rb_launcher_command_text(const char *command, struct rb_buf *out);

void rb_launcher_prepare(struct rb_launcher *base, const struct rb_launch_node *spec);
void rb_launcher_forget(struct rb_launcher *base, int node);
void rb_launcher_heartbeat(struct rb_launcher *base, int node, int64_t shutdown_in_s);
void rb_launcher_free_node(struct rb_launcher_node *node);
// err NULL: the node is ready.
void rb_launcher_report_prepared(struct rb_launcher_node *node, const struct rb_err *err);
void rb_launcher_report_waiting(const struct rb_launcher_node *node, const char *why);
void rb_launcher_retry_connect(struct rb_launcher_node *node, const char *said); // ssh's last message
// Of a node that is set up: fetches the job's data, or looks whether it is where it is mounted; then the node is ready.
void rb_launcher_bring_data(void *node);
// For the node script: where the data is. Nothing if the job has none.
void rb_launcher_data_words(const struct rb_job *job, struct rb_buf *out);

void rb_launcher_start(struct rb_launcher *base, const struct rb_task *task);
void rb_launcher_yield(struct rb_launcher *base, int trial, int attempt, const char *why);
void rb_launcher_stop(struct rb_launcher *base, int trial, int attempt, int exit_code, double rest_s);
void rb_launcher_end(struct rb_launcher *base, int trial, int attempt);
// launcher_file.c: a line that the node script put into the output, at the end of these bytes. Returns how many bytes before it are
// the script's; n: there is none.
size_t rb_launcher_take_file(struct rb_rank *r, const char *line, size_t n);

void rb_launcher_stop_asking(struct rb_rank *r);
void rb_launcher_echo(struct rb_launcher *base, int trial, int attempt);
void rb_launcher_take_echo(const struct rb_rank *r, const char *word); // what came back in the output of the rank
void rb_launcher_stop_echo(struct rb_launcher_task *task);             // none is awaited
void rb_launcher_kill(struct rb_launcher *base, int trial, int attempt);
void rb_launcher_drop_tasks_on(struct rb_launcher_impl *l, struct rb_launcher_node *node);
// Ends everything of the task at once; its memory is freed when none of its callbacks can be on the stack.
void rb_launcher_drop_task(struct rb_launcher_task *task);
void rb_launcher_free_dropped(void *l); // the dropped ones

// Relative to the folder of the start; with in_place one that all starts of the trial share.
void rb_launcher_checkpoint_dir(const struct rb_launcher_impl *l, char *out, size_t size);
void rb_launcher_save(struct rb_launcher *base, int trial, int attempt, const char *dest);
void rb_launcher_keep(struct rb_launcher *base, int trial, int attempt, const char *name, int64_t resource,
                      const char *dest);
void rb_launcher_discard(struct rb_launcher *base, int trial, int attempt, const char *uri);
void rb_launcher_stop_saving(struct rb_launcher_task *task); // ends the commands, and forgets what they were for
// Brings the task's checkpoint to every rank's node, then calls next (or reports the task exited on failure).
void rb_launcher_load(struct rb_launcher_task *task, void (*next)(struct rb_launcher_task *task));

#endif
