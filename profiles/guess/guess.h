// A profile made from a guess, for a job without measurements: `guess:` of job.yaml, or rbplan --guess. The guess says how
// long a unit takes on some GPU; other GPUs follow from a table of relative speeds, and everything else from priors. Every figure
// carries a spread, as the standard deviation of its logarithm (log_sd), which widens the plan's intervals. Or the guess names
// a well-known model, whose figures are in the library (profiles/library); or a GPU on which the job was measured, and the
// measurement is transferred to the others.
// Source: docs/formats/job.md, docs/explanation/guesses.md.
#ifndef RB_PROFILES_GUESS_H
#define RB_PROFILES_GUESS_H

#include "profiles/catalog/catalog.h"
#include "profiles/store/profile.h"

enum rb_guess_from {
    RB_GUESS_OWN,       // the user timed it: log_sd 0.10
    RB_GUESS_PUBLISHED, // a published figure for this model: 0.35
    RB_GUESS_FEELING,   // 0.7: a factor of 3.2 either way covers 90 %
};

enum rb_guess_kind { RB_GUESS_ANY, RB_GUESS_CNN, RB_GUESS_TRANSFORMER, RB_GUESS_LLM };

struct rb_guess {
    int64_t unit_us;     // of one unit of the resource on `gpus` GPUs; from `throughput` and `samples` where these are given
    const char *on;      // the GPU that it is said of, as given
    int gpus;            // 1..8, of one node
    enum rb_guess_from from;
    enum rb_guess_kind kind;
    double scaling;      // speed-up of eight GPUs of one node over one; 0: the prior
    int64_t startup_us, checkpoint_us; // -1: the prior
    const struct rb_library_model *like; // NULL: none; otherwise unit, on, gpus, from and kind are the library's
    double samples;      // with `like`: of one unit
    const char *measured; // the GPU of the measured profile from which others follow; NULL: none. Otherwise only `kind` counts
    bool of_cpus;        // no key: the job has trial.cpus, and the figure is of the CPUs of one trial
};

bool rb_guess_kind_parse(const char *text, enum rb_guess_kind *out);

// The map of job.yaml: {unit | throughput and samples, on, gpus, from, kind, scaling, startup, checkpoint}, or {like, samples,
// scaling, startup, checkpoint}, or {measured, kind}.
bool rb_guess_read(const struct rb_node *node, struct rb_arena *arena, struct rb_guess *out, struct rb_err *err);
void rb_guess_write(const struct rb_guess *g, struct rb_json *j);

// "unit=4m,on=A10G" as YAML: "{unit: 4m, on: A10G}".
const char *rb_guess_yaml(const char *text, struct rb_arena *arena);

// For every accelerator of the catalog whose speed is known, and for the guess's own. Error: none of them is on offer, with the
// names that are known. least_gpus: the fewest that the job gives to a trial, with which a model of the library must do.
bool rb_guess_profile(const struct rb_guess *g, const char *name, const char *unit, const struct rb_catalog *catalog,
                      int least_gpus, struct rb_arena *arena, struct rb_profile *out, struct rb_err *err);

// From a profile of the job that was measured on g->measured: the other GPUs' times follow by the relative speeds, in the shape
// of its speed-ups on one node; what was measured stays as it is, and where that is all on offer, the result is `measured`
// itself. How several trials share a GPU, and batch sizes, are not transferred. `measured` must outlive the result.
// Errors: measured is NULL, itself a guess, or of other GPUs, with their names; the relative speed is not known.
bool rb_guess_transfer(const struct rb_guess *g, const struct rb_profile *measured, const struct rb_catalog *catalog,
                       struct rb_arena *arena, struct rb_profile *out, struct rb_err *err);
// The GPU of the profile from which others follow with the least spread; NULL: the speed of none is known.
const char *rb_guess_best_measured(const struct rb_profile *measured);

// From the guess of a job, which it has: in slots of CPUs where its trials need CPUs. measured: its profile, if one is known.
bool rb_guess_of_job(const struct rb_job *job, const struct rb_profile *measured, const struct rb_catalog *catalog,
                     struct rb_arena *arena, struct rb_profile *out, struct rb_err *err);

// The same profile had it been measured and the guess been right in the middle: every median stays, with an error of 5 %.
void rb_guess_as_measured(const struct rb_profile *guess, struct rb_arena *arena, struct rb_profile *out);

#endif
