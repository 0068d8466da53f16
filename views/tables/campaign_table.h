// The results of a measuring campaign: for people, and as one rb-campaign/1 document.
#ifndef RB_VIEWS_CAMPAIGN_TABLE_H
#define RB_VIEWS_CAMPAIGN_TABLE_H

#include "executor/campaign/measurement.h"

void rb_measurement_print_runs(const struct rb_measurement *m, struct rb_buf *out);
// Findings about the training script, with what to do about them; writes nothing if there are none.
void rb_measurement_print_script(const struct rb_measurement *m, struct rb_buf *out);
void rb_measurement_print_nodes(const struct rb_measurement *m, int n_nodes, struct rb_buf *out);
void rb_measurement_write(const struct rb_measurement *m, int n_nodes, struct rb_buf *out);

#endif
