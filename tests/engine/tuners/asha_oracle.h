// ASHA as one would write it in an afternoon: every decision sorts all results again and interpolates the percentile. The
// tuner must decide likewise. O(n^2), independent of engine/tuners/.
#ifndef RB_TESTS_ENGINE_ASHA_ORACLE_H
#define RB_TESTS_ENGINE_ASHA_ORACLE_H

#include "engine/core/tuner.h"

#define ORACLE_TRIALS 64
#define ORACLE_LEVELS 24

struct oracle_trial {
    bool live, paused;
    int bracket;
    int n_rungs;                  // results it has: at levels bracket, bracket + 1, ...
    double score[ORACLE_LEVELS];  // by level
    int64_t resource;             // where it was paused
    double paused_score;
    int waits_at;                 // level of the rung; -1: midway
    bool asked_to_pause;
};

struct oracle {
    struct rb_scheduler s;
    int64_t levels[ORACLE_LEVELS];
    int n_levels;
    struct oracle_trial trials[ORACLE_TRIALS];
    int n_trials;
    bool closed_new, closed_all;
};

struct oracle_group {
    int trial, stage;
    int64_t start, end;
};

void oracle_init(struct oracle *o, const struct rb_scheduler *s);
enum rb_tuner_next oracle_next(struct oracle *o, struct oracle_group *out);
enum rb_verdict oracle_reported(struct oracle *o, int trial, int64_t resource, double score);
void oracle_report(struct oracle *o, int trial, int64_t resource, double score);
void oracle_close(struct oracle *o, enum rb_tuner_close what);
int oracle_phase(const struct oracle *o);

#endif
