// Writes the draft of a job.yaml for a person to edit: sections in the order of docs/formats/job.md, comments beside
// their keys, and suggestions behind a # that only need uncommenting. It handles only text; the job reader knows the
// meaning of keys.
#ifndef RB_PROFILES_JOB_DRAFT_H
#define RB_PROFILES_JOB_DRAFT_H

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/document/doc.h"

enum rb_draft_section {
    RB_DRAFT_NAME, RB_DRAFT_SEED, RB_DRAFT_METRIC, RB_DRAFT_PARAMETERS, RB_DRAFT_SCHEDULER, RB_DRAFT_TRIAL,
    RB_DRAFT_ENVS, RB_DRAFT_SECRETS, RB_DRAFT_SETUP, RB_DRAFT_RUN, RB_DRAFT_CHECKPOINT, RB_DRAFT_RESOURCES,
    RB_DRAFT_DEADLINE, RB_DRAFT_BUDGET, RB_DRAFT_SECTIONS,
};

struct rb_draft_line {
    enum rb_draft_section section;
    const char *key;              // within the section; NULL: the section is this one value
    const char *value;            // YAML, one line, or a block that begins with \n; NULL: a comment by itself
    const char *comment;          // NULL: none
    bool is_suggestion;           // written behind #
    const struct rb_node *source; // its source; NULL: none
};

struct rb_job_draft {
    struct rb_arena *arena; // borrowed; holds all texts
    const char *head;       // comment at the top, lines separated by \n
    struct rb_draft_line *lines;
    int n_lines, capacity;
};

// Texts are copied. Lines of a section are written in the order they came.
void rb_job_draft_init(struct rb_job_draft *d, struct rb_arena *arena);
void rb_job_draft_set(struct rb_job_draft *d, enum rb_draft_section section, const char *key, const char *value,
                      const char *comment, const struct rb_node *source);
void rb_job_draft_suggest(struct rb_job_draft *d, enum rb_draft_section section, const char *key, const char *value,
                          const char *comment);
void rb_job_draft_remark(struct rb_job_draft *d, enum rb_draft_section section, const char *comment);
// The beginning of every job: where it may run, its deadline and its budget. deadline NULL: none yet.
void rb_job_draft_where(struct rb_job_draft *d, const char *deadline);
// NULL: not set.
const struct rb_draft_line *rb_job_draft_find(const struct rb_job_draft *d, enum rb_draft_section section,
                                              const char *key);
// The line for "parameters.lr.max": the longest that begins that path. NULL: none.
const struct rb_draft_line *rb_job_draft_about(const struct rb_job_draft *d, const char *path);

void rb_job_draft_write(const struct rb_job_draft *d, struct rb_buf *out);

// "src/Train_Cifar.py" -> "src-train-cifar-py", a job's name; a text without letters and digits: "job".
const char *rb_job_draft_name(const char *text, size_t n, struct rb_arena *arena);
// A text as one YAML scalar, quoted if it would be read as anything else.
const char *rb_yaml_text(const char *text, struct rb_arena *arena);

// Describes the inputs of the script and its reports, as lines of a head.
extern const char rb_job_draft_contract[];

#endif
