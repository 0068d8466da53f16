// What ended runs found out about their search spaces, for later runs with the same space.
#ifndef RB_PROFILES_FOUND_H
#define RB_PROFILES_FOUND_H

#include "base/digest.h"
#include "profiles/job/job.h"
#include "profiles/store/store.h"

#define RB_FOUND_RESULTS 200 // of one run; a model of more takes longer and is hardly better

// A trial's result at a level at which trials are compared. Ranks can be compared with those of any run with the same
// space, metrics only where the same is trained as well.
struct rb_found_result {
    int trial;
    int64_t resource;
    const char *config_json; // {"lr":0.01,..}, as rb_space_json writes it
    double quantile;         // (rank - 1/2) / n among that run's results at this resource; 1: best
    double unit_s;           // seconds of a unit, NAN: unknown
    double metric;           // NAN: none, it failed or diverged
    bool drawn;              // a draw from the declared space: no result had a part in its configuration
};

struct rb_found {
    const char *run, *job;                 // id of the run, name of the job
    const char *space;                     // rb_found_space
    const char *training;                  // rb_found_training; NULL: unknown, and so are `metric` and `drawn`
    int64_t ended_at_us;                   // unix
    const struct rb_found_result *results; // [n]
    int n;
};

// The fingerprint of what is searched: parameters, with their order, and the metric with its goal.
void rb_found_space(const struct rb_job *job, rb_digest_fn *digest, char out_hex[65]);

// The fingerprint of what a final result is a result of: the space, the commands, the unit of resource and
// max_resource. Metrics of runs that share it were measured alike, as far as the job can say: a script that the command
// starts is not looked at.
void rb_found_training(const struct rb_job *job, rb_digest_fn *digest, char out_hex[65]);

// Replaces what the same run left before. In a transaction of the caller's, or one of its own.
bool rb_store_put_found(struct rb_store *s, const struct rb_found *found, struct rb_err *err);
// Of runs with that space, the newest first, at most `most`; a store that no run has ended beside has none. Of each run
// the results at the highest resources, at most RB_FOUND_RESULTS, in the order of trials at each, as of an unknown
// training.
bool rb_store_found(struct rb_store *s, const char *space, int most, struct rb_arena *arena, struct rb_found **out,
                    int *out_n, struct rb_err *err);

// What is known of how good the configurations of a space are.
struct rb_found_metric {
    const char *config_json;
    int64_t resource;
    double metric; // NAN: it failed or diverged
};

struct rb_found_metrics {
    const struct rb_found_metric *results; // by configuration, then by resource, [n]; none twice: the newest counts
    int n, n_runs;                         // runs that they are from
};

// Every result of a drawn configuration in runs with that training. Runs that an older program left have none.
bool rb_store_found_metrics(struct rb_store *s, const char *training, struct rb_arena *arena,
                            struct rb_found_metrics *out, struct rb_err *err);

#endif
