// A tuner decides which trials train next and how far. It hands out groups of trials and receives results at any time:
// synchronous rungs are groups of many, asynchronous promotions groups of one. Pure: no clock, and no random number but
// draws that the job's seed and a trial's id key (base/stream.h). A tuner is one file under tuners/, one line in tuners.c,
// and one row of what the reader of jobs must know of it (rb_scheduler_kinds, profiles/job/job_scheduler.h).
#ifndef RB_ENGINE_TUNER_H
#define RB_ENGINE_TUNER_H

#include "engine/core/rungs.h"
#include "profiles/job/job.h"

// Trials that train alike. Everything is borrowed from the tuner until its next call.
struct rb_group {
    int stage;              // of rb_rungs_of_job: its GPUs per trial hold for the group
    const int *trials;      // ascending trial ids, [n_trials]
    int n_trials;
    const int *parents;     // of each, the trial whose checkpoint at resource_start it begins with as a new trial; -1: it
                            // has none. NULL: no member has one
    int64_t resource_start; // trained so far, all members alike; by a clone's parent
    int64_t resource_end;   // train to
    const int *dropped;     // paused trials that train again only in place of one that fails, [n_dropped]
    int n_dropped;
    bool replaces;          // it joins a group that already trains, in place of a failed trial
};

enum rb_tuner_next { RB_TUNER_GROUP, RB_TUNER_WAIT, RB_TUNER_DONE };

// The fate of a trial that has reported and is not at the end of its budget.
enum rb_verdict {
    RB_VERDICT_CONTINUE,
    RB_VERDICT_PAUSE,       // checkpoint and give way; `ended` reports when and where; the tuner may resume it
    RB_VERDICT_STOP,        // for good; the tuner counts it as ended from now on
};

enum rb_tuner_close {
    RB_CLOSE_NEW,           // start no trial that has never trained
    RB_CLOSE_ALL,           // also resume no paused trial
};

struct rb_tuner {
    const char *name;
    bool on_demand;         // asynchronous: asked for a group only while a trial could start at once, and then for one
                            // trial. Else asked at the start and after every result until it waits
    const struct rb_setting_rule *rules; // its own keys of `scheduler:`, [n_rules]; rb_tuner_options reads them
    int n_rules;
    // The job's stages as the tuner numbers them. Errors: more stages or trials than the limits.
    bool (*stages)(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err);
    // Do they overlap: may several train at once, or trials end before their stage does, depending on results? Then
    // only runs of the engine itself show how long a plan takes (simulator/world/world_evaluate.h). NULL: never.
    bool (*overlaps)(const struct rb_scheduler *s);
    // Heap state for one job; never NULL on success.
    bool (*create)(const struct rb_job *job, void **out_state, struct rb_err *err);
    void (*destroy)(void *state);
    // The next group to train, or WAIT until results arrive, or DONE: nothing trains and nothing will.
    enum rb_tuner_next (*next)(void *state, struct rb_group *out);
    // The lowest stage that has trials or may still get some; never falls. The plan says per stage which nodes to own meanwhile.
    int (*phase)(const void *state);
    // Trial `trial` trains and has reported; NULL: only the end of a budget counts.
    enum rb_verdict (*reported)(void *state, int trial, int64_t resource, double score);
    // Trial `trial` no longer trains. It has finished its group's budget with `score` (higher is better), or it was
    // paused at `resource`, or it diverged: -INFINITY, and then it is never handed out again, even where that leaves a
    // place empty.
    void (*ended)(void *state, int trial, int64_t resource, double score);
    // Trial `trial` failed for good before the end of its group's budget. If it was promoted, the next best of the rung
    // below takes its place, if there is one. NULL, and in runs by RB_RULES_OLDEST: ended with -INFINITY instead.
    void (*failed)(void *state, int trial);
    void (*close)(void *state, enum rb_tuner_close what); // NULL: it always begins all its trials
};

const struct rb_tuner *rb_tuner_find(const char *name); // NULL: unknown
extern const struct rb_tuner *const rb_tuners[];         // sorted by name, NULL-terminated

// The values of the tuner's own keys, in the order of its rules. Errors: a key that it does not have, a wrong value.
bool rb_tuner_options(const struct rb_tuner *tuner, const struct rb_scheduler *s, double out[RB_SETTINGS_MAX],
                      struct rb_err *err);

// Turns a metric into a score: higher is better; NaN and infinity are the worst value.
double rb_score(enum rb_goal goal, double metric);
// Order of trials at a rung: score descending, ties by trial id ascending. <0: a before b.
int rb_score_compare(double score_a, int trial_a, double score_b, int trial_b);

#endif
