// Shared by the readers of other tools' formats. A reader is one file and one line in the table of import_job.c.
#ifndef RB_PROFILES_IMPORT_JOB_FORMAT_H
#define RB_PROFILES_IMPORT_JOB_FORMAT_H

#include "profiles/import/import_job.h"
#include "profiles/job/job_draft.h"

// An import under way.
struct rb_importer {
    const struct rb_job_import_options *options;
    struct rb_job_import made; // the result; its arena holds everything
    struct rb_job_draft draft;
    struct rb_job_warning *warnings;
    const char **ignored;
};

struct rb_job_format {
    const char *name;     // --from
    const char *title;    // "a W&B sweep"
    const char *marks[3]; // keys at the top that identify it, all of them; ends with NULL
    bool (*read)(struct rb_importer *im, const struct rb_node *root, struct rb_err *err);
};

extern const struct rb_job_format rb_job_format_determined, rb_job_format_katib, rb_job_format_optuna, rb_job_format_ray,
    rb_job_format_sagemaker, rb_job_format_vertex, rb_job_format_wandb;

// --- keys

enum rb_key_use {
    RB_KEY_READ,    // the reader reads it
    RB_KEY_IGNORED, // used only by the other tool
    RB_KEY_DROPPED, // has no equivalent: a warning with `why`
    RB_KEY_REFUSED, // would change the meaning: an error, with `why`
};
struct rb_key_rule {
    const char *keys; // one or more, with spaces between them; NULL ends the table
    enum rb_key_use use;
    const char *why;
};

// Treats every key of a map by its rule; keys with null count as absent. Unknown ones are errors with "did you mean".
bool rb_import_keys(struct rb_importer *im, const struct rb_node *map, const struct rb_key_rule *rules,
                    enum rb_draft_section section, struct rb_err *err);
// NULL where absent, null, or where `map` is NULL.
const struct rb_node *rb_import_given(const struct rb_node *map, const char *key);
bool rb_import_need(const struct rb_node *map, const char *key, const char *hint, const struct rb_node **out,
                    struct rb_err *err);
bool rb_import_is(const struct rb_node *node, const char *text); // is the node that text? NULL: no
// Reads an end of a range, a number or its text: whole numbers of 64 bits are text in JSON.
bool rb_import_end(const struct rb_node *map, const char *key, double *out, struct rb_err *err);
// Appends the words of a command to `out`, quoted for a shell; a NULL list adds nothing.
bool rb_import_words(const struct rb_node *list, struct rb_buf *out, struct rb_err *err);

// --- remarks

// A warning at a node, and a line of comment in that section of the draft.
void rb_import_warn(struct rb_importer *im, enum rb_draft_section section, const struct rb_node *node, const char *fmt,
                    ...) __attribute__((format(printf, 4, 5)));

// --- output

void rb_import_set(struct rb_importer *im, enum rb_draft_section section, const char *key, const char *value,
                   const struct rb_node *source);
void rb_import_set_text(struct rb_importer *im, enum rb_draft_section section, const char *key, const char *text,
                        const struct rb_node *source);
void rb_import_set_int(struct rb_importer *im, enum rb_draft_section section, const char *key, int64_t value,
                       const struct rb_node *source);

// One word of a command, quoted for a shell where it needs that.
void rb_import_put_word(const char *word, struct rb_buf *out);
void rb_import_set_run(struct rb_importer *im, const char *command, const struct rb_node *source);
void rb_import_add_secret(struct rb_importer *im, const char *name, const struct rb_node *source);
// Names the job: the text of `node`; NULL: the file's name.
void rb_import_set_name(struct rb_importer *im, const struct rb_node *node);
void rb_import_set_metric(struct rb_importer *im, const struct rb_node *name, const char *goal);
// The same of a map with the name of a metric and its goal, which is one of two words.
bool rb_import_objective(struct rb_importer *im, const struct rb_node *map, const char *name_key, const char *goal_key,
                         const char *maximize, const char *minimize, struct rb_err *err);
// The option wins over the node; if both are missing, the error at `at` names the option.
bool rb_import_set_trials(struct rb_importer *im, const struct rb_node *given, const struct rb_node *at, struct rb_err *err);
// The resource of a fully trained trial: the option, or the given value; 0: one unit that is a whole run, with a
// warning at `at`.
void rb_import_set_length(struct rb_importer *im, int64_t given, const char *unit, const struct rb_node *at);

// Rungs are counted up from the first, other tools count down from the length: warns where the two differ.
void rb_import_warn_rungs(struct rb_importer *im, const struct rb_node *at, int64_t first, int64_t length, int64_t eta);

// --- parameters

// Two parameters of one name, by nesting, are an error.
bool rb_import_param(struct rb_importer *im, const char *name, const char *value, const struct rb_node *source,
                     struct rb_err *err);
// A value that a parameter may take, as YAML: a number, text, true or false.
bool rb_import_scalar(struct rb_importer *im, const struct rb_node *node, const char **out, struct rb_err *err);
bool rb_import_constant(struct rb_importer *im, const char *name, const struct rb_node *node, struct rb_err *err);
bool rb_import_choice(struct rb_importer *im, const char *name, const struct rb_node *list,
                      const struct rb_node *probabilities, struct rb_err *err);
// {distribution: uniform, min: 0.1, max: 1.0}. Numbers that were not computed keep their text.
struct rb_law_number {
    const char *key;
    const struct rb_node *node; // NULL: `value`
    double value;
    bool whole;
};
bool rb_import_law(struct rb_importer *im, const char *name, const char *distribution, const struct rb_law_number *numbers,
                   int n, const struct rb_node *source, struct rb_err *err);
// A uniform range of values, whole or not, on the scale that `scaling` names. There is no reverse logarithm, and none
// of whole numbers: warns of either.
bool rb_import_scaled(struct rb_importer *im, const char *name, double min, double max, bool whole,
                      const struct rb_node *scaling, const char *logarithm, const char *reverse,
                      const struct rb_node *source, struct rb_err *err);
void rb_import_put_float(double value, struct rb_buf *out); // never without a point or an exponent
// Reads a number of a distribution as a double; NULL node: `fallback`, NAN: required.
bool rb_import_number(const struct rb_node *map, const char *key, double fallback, double *out, struct rb_err *err);
// Multiples of q: from `min` to `max`, which are multiples already. Warns that both ends are as likely as the others.
bool rb_import_steps(struct rb_importer *im, const char *name, double min, double max, double q, bool whole,
                     const struct rb_node *source, struct rb_err *err);
// "optimizer.lr": the name of a parameter within another.
const char *rb_import_inner_name(struct rb_importer *im, const char *outer, const char *inner);

#endif
