// Plays a search on a table: a scheduler of the engine, a sampler, some workers, in virtual time.
#ifndef RB_BENCH_SEARCH_PLAY_H
#define RB_BENCH_SEARCH_PLAY_H

#include "samplers/search.h"
#include "simulator/blackbox/table.h"

#define N_BUDGETS 3

struct game {
    const char *scheduler;        // a tuner's name
    struct rb_sampler_spec sampler;
    int workers;
    int num_trials;               // of sha and asha
    int eta;                      // 0: 3, from the table's lowest level, to a top that is one more step of it
    int64_t min_resource;         // with eta
    bool once;                    // the scheduler is not begun again when it is done; budgets are then unlimited
    int ahead;                    // a configuration is proposed this many trials before its own starts
    bool in_seconds;              // budgets are seconds, in units of the table's mean seconds a unit
    double budgets[N_BUDGETS];    // ascending
    struct rb_earlier earlier;    // what the sampler starts from
    const bool *taken;            // rows that it cannot have, [table->n_rows]; NULL: none
};

struct step {
    double spent, regret;         // where the best report became better
};

struct outcome {
    double regret[N_BUDGETS];     // (best reported - best) / (median final - best), at most 1
    int best_row;                 // of those trained to R, -1: none
    double units;                 // spent
    double *suggest_s;            // processor time of each suggestion, [n_suggest], malloc'd
    int n_suggest;
    struct step *steps;           // [n_steps], malloc'd
    int n_steps;
    struct rb_earlier_result *results; // what the search leaves to later ones, [n_results], malloc'd; values are the table's
    int n_results;
    int *result_rows;             // the rows that they are of, [n_results], malloc'd; -1: the sampler chose it by results
    bool *used;                   // rows that it had, [table->n_rows], malloc'd
};

void outcome_finish(struct outcome *o);

bool play(const struct game *g, const struct rb_blackbox *t, uint64_t seed, struct outcome *out, struct rb_err *err);

#endif
