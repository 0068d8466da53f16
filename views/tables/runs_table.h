// Many runs as a table, a row each, for a page.
#ifndef RB_VIEWS_RUNS_TABLE_H
#define RB_VIEWS_RUNS_TABLE_H

#include "executor/browse/run_row.h"
#include "views/tables/text_table.h"

const char *rb_runs_outcome_words(const struct rb_run_row *row); // "target reached", "journal damaged", "unreadable"
// An amount of the run, in words: "$1.20"; "free" where nothing has a price, "by the pool" where a pool pays; "-":
// unknown.
char *rb_runs_cost(const struct rb_run_row *row, int64_t uusd, char out[static 32]);

// Initialises the table and fills it; finish it with rb_text_table_finish. with_from: a column says where each is from.
void rb_runs_table(const struct rb_run_row *rows, int n, bool with_from, struct rb_text_table *out);

#endif
