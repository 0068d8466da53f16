// What earlier runs with the same space are worth to a new one.
#ifndef RB_SAMPLERS_RECALL_H
#define RB_SAMPLERS_RECALL_H

#include "samplers/search.h"

#define RB_RECALL_FIRST 3 // the first trials get the best configurations of earlier runs

// Fills the history's `recalled`: weights halve with each older run, and sum to at most 25.
void rb_recall_fill(struct rb_history *h, const struct rb_coordinates *c, const struct rb_earlier_result *results,
                    int n);

// The distinct configurations to begin with: those at the highest levels, best first. out [n] are places in
// `results`; returns how many.
int rb_recall_first(const struct rb_space *space, const struct rb_earlier_result *results, int n, int *out, int most);

// What the history leaves to later runs: (rank - 1/2) / n of each result among those at its level, equal ones sharing their
// mean rank. out [h->n_results].
void rb_recall_quantiles(const struct rb_history *h, double *out);

// Do the earlier runs still predict this one? Spearman's correlation of the first 20 trials' results with what the
// earlier results near them predict; below 0.2 the answer is no. Until there are 20: yes.
bool rb_recall_holds(const struct rb_history *h);

#endif
