// The search of one run: its sampler and what it has seen. Worlds feed it every event after the engine's step and
// answer the engine's RB_ACTION_SUGGEST with what it proposes.
#ifndef RB_SAMPLERS_SEARCH_H
#define RB_SAMPLERS_SEARCH_H

#include "profiles/job/job.h"
#include "samplers/sampler.h"

struct rb_search;

struct rb_suggestion {
    const struct rb_value *values; // [space.n_params]
    const char *origin;            // the sampler's name; "start" before it has results enough; "random"; "earlier run"
    const char *reason;
};

// Is a configuration of this origin a draw from the declared space, in which no result had a part? Samplers that learn
// begin with such, and go on to draw one now and then.
bool rb_origin_is_drawn(const char *origin);

// One result of an earlier run with the same space.
struct rb_earlier_result {
    const struct rb_value *values; // [space.n_params]
    int64_t resource;
    double quantile;               // (rank - 1/2) / n among that run's results at this resource, 1: best
    double unit_s;                 // NAN: unknown
    int age;                       // 0: of the newest run, 1: of the one before, ...
    const char *run;               // its id, for people; NULL: unknown
};

struct rb_earlier {
    const struct rb_earlier_result *results; // [n]
    int n;
    const char *const *runs; // ids of those that they are from, the newest first, [n_runs]
    int n_runs;
};

// job->scheduler.sampler names one of rb_samplers; NULL: random. The job is borrowed.
// Errors: an unknown option of the sampler, or one out of range.
bool rb_search_create(const struct rb_job *job, struct rb_search **out, struct rb_err *err);
void rb_search_destroy(struct rb_search *s);
const struct rb_history *rb_search_history(const struct rb_search *s);
const struct rb_coordinates *rb_search_coordinates(const struct rb_search *s);

// Results of earlier runs, before the first fact of this one, if the sampler recalls any. The first trials get their best
// configurations; the rest count as observations until this run's results contradict them (samplers/recall.h).
void rb_search_recall(struct rb_search *s, const struct rb_earlier_result *results, int n);

// The facts of the run, in their order. Values that no coordinate has (another program proposed them) count as the
// nearest. A world passes the values of every trial that begins, its own suggestions among them.
void rb_search_began(struct rb_search *s, int trial, const struct rb_value *values, int64_t next_resource);
void rb_search_reported(struct rb_search *s, int trial, int64_t resource, double score, double unit_s);
void rb_search_changed(struct rb_search *s, int trial, enum rb_seen_state state, int64_t next_resource);

// The configuration of a new trial. `out` and what it points to live in `arena`.
void rb_search_suggest(struct rb_search *s, const struct rb_ask *ask, struct rb_arena *arena,
                       struct rb_suggestion *out);

#endif
