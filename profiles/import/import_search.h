// Names of searches in other tools, and what they are here: a sampler or a scheduler.
#ifndef RB_PROFILES_IMPORT_SEARCH_H
#define RB_PROFILES_IMPORT_SEARCH_H

#include "profiles/import/import_job_format.h"

// Sets scheduler.sampler for the search `name` (case, - and _ do not matter: HyperOptSearch, multivariate-tpe,
// CmaEsSampler); nothing for one at random, which needs none. A search without an equivalent gets tpe, with a warning.
void rb_import_set_sampler(struct rb_importer *im, const char *name, const struct rb_node *node);

// Sets scheduler.type of a search that trains each trial in full, but for a rule that stops trials by the median of the
// others (median: its key; NULL: none): grid, random or median.
void rb_import_set_type(struct rb_importer *im, bool is_grid, const struct rb_node *median, const struct rb_node *at);

// Sets scheduler.type pbt and its keys: trials of `length` units (0: unknown) that compare themselves every `interval` of
// them (its key; NULL: a tenth of the length, with a warning), and the share that gives up (its key; NULL: our default).
bool rb_import_set_population(struct rb_importer *im, int64_t length, const char *unit, const struct rb_node *interval,
                              const struct rb_node *quantile, const struct rb_node *at, struct rb_err *err);

#endif
