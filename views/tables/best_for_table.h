// The best search for a budget, as text: what it is expected to find, by what, beside the other searches; what more
// money and less time would change.
#ifndef RB_VIEWS_BEST_FOR_TABLE_H
#define RB_VIEWS_BEST_FOR_TABLE_H

#include "planner/questions/best_for.h"
#include "views/tables/text_table.h"

void rb_best_for_table_write(const struct rb_best_for *b, const struct rb_text_style *style, struct rb_buf *out);

// "val_acc 0.913 (90 %: 0.905 to 0.921)" where the law knows metrics, else "better than 98.9 % of random configurations
// (90 %: 97.1 to 99.9 %)".
void rb_best_write(const struct rb_best_for *b, const struct rb_best *best, struct rb_buf *out);

// "val_acc 0.9 is reached in 96 % of draws, then for $8.10 on average (90 %: $4 to $20), by the table x", or why that
// is not known. t: only where the law knows metrics. No newline.
void rb_to_target_write(const struct rb_job *job, const struct rb_quality_law *law, const struct rb_to_target *t,
                        struct rb_buf *out);

#endif
