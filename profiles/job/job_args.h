// Reads and writes `trial.args` of job.yaml, and makes the words of it that a script gets: for scripts that name their
// options in their own way. Source: docs/formats/job.md.
//   {start} {end} {max}       the resource from which this start trains, to which, and the job's max_resource
//   {seed} {gpus} {nodes}     RB_TRIAL_SEED; the GPUs of the trial on each of its nodes; its nodes
//   {checkpoint} {file}       the folders and files of the node: RB_CHECKPOINT_DIR; the copy of args.file
//   {resume} {resume:GLOB}    RB_RESUME_FROM; the newest of the files there that match, by the numbers in their names
//   {{ }}                     a brace
#ifndef RB_PROFILES_JOB_ARGS_H
#define RB_PROFILES_JOB_ARGS_H

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/document/doc.h"
#include "base/document/json.h"
#include "profiles/job/job_texts.h"
#include "profiles/space/space.h"

struct rb_job;

enum rb_args_style { RB_ARGS_EQ, RB_ARGS_SPACE, RB_ARGS_BARE, RB_ARGS_PAIRS };

// The lists of words that stand before the parameters, in this order.
enum rb_args_part {
    RB_ARGS_FIXED, RB_ARGS_START, RB_ARGS_END, RB_ARGS_SEED, RB_ARGS_GPUS, RB_ARGS_NODES, RB_ARGS_CHECKPOINT,
    RB_ARGS_RESUME, // left out on a first start
    RB_ARGS_PARTS
};

// The word of a parameter that is true or false; "": none.
struct rb_arg_switch {
    const char *name, *when_true, *when_false;
};

// All zero: the job has no trial.args, and `run` gets no words.
struct rb_trial_args {
    bool given;
    enum rb_args_style style;
    const struct rb_arg_switch *switches;
    int n_switches;
    const struct rb_key_value *renames; // parameter -> the script's name of it
    int n_renames;
    const char *file_path, *file_base;  // NULL: none; path is relative to the checkpoint folder, base to the workdir
    struct rb_string_list parts[RB_ARGS_PARTS];
};

// One start of a trial.
struct rb_args_order {
    const struct rb_job *job;
    const struct rb_value *values;        // of the parameters, [job->space.n_params]
    int64_t start, end, seed;
    int gpus, nodes;                      // gpus: on each node
    const char *checkpoint, *resume;      // folders; resume NULL: a first start
};

bool rb_trial_args_read(const struct rb_node *node, const struct rb_space *space, struct rb_arena *arena,
                        struct rb_trial_args *out, struct rb_err *err);
// Between keys of the job: does `run` use the words, can a part ever be used? node: of trial.args, for places.
bool rb_trial_args_check(const struct rb_job *job, const struct rb_node *node, struct rb_err *err);
void rb_trial_args_write(const struct rb_trial_args *a, struct rb_json *j); // an object

// The words of a start, in order. {resume:GLOB} stays a glob below the folder: only its node can look.
struct rb_string_list rb_trial_args_render(const struct rb_args_order *order, struct rb_arena *arena);
// The same words in sh, for the node: quoted, with blanks between. What only the node knows stands for itself:
// $RB_CHECKPOINT_DIR, $RB_RESUME_FROM, $RB_GPUS_PER_NODE, $rb_file and $(newest GLOB). order.checkpoint is not used, of
// order.resume only whether there is one.
void rb_trial_args_shell(const struct rb_args_order *order, struct rb_buf *out);
// One text with such words in it, likewise as one word of sh.
void rb_arg_word_shell(const struct rb_args_order *order, const char *text, struct rb_buf *out);
// What goes into the copy of args.file: lines "NAME VALUE", the value as YAML and JSON write it.
void rb_trial_args_file(const struct rb_args_order *order, struct rb_buf *out);

// What is wrong with the words in a text, at its node. may_resume, has_file: whether {resume} and {file} mean something there.
bool rb_arg_word_check(const struct rb_node *node, const char *text, bool may_resume, bool has_file, struct rb_err *err);

#endif
