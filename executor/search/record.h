// A table for rbsim --blackbox (docs/formats/blackbox.md) from what trials of real runs reported: their plans and their
// events. A row is a trial that trained to the end, or that diverged; others have no whole curve, and are left out.
#ifndef RB_EXECUTOR_RECORD_H
#define RB_EXECUTOR_RECORD_H

#include "engine/events/event.h"
#include "engine/plan/plan.h"

struct rb_record_row {
    const struct rb_value *values; // [space.n_params]
    double *metrics;               // [max_resource]; NAN: diverged
    double unit_s;                 // mean of its units, NAN: unknown
};

// Zero-initialised is empty.
struct rb_record {
    struct rb_arena arena;
    const struct rb_job *job; // of the first run; outlives it
    struct rb_record_row *rows;
    int n_rows;
    int n_left_out;
    bool untimed; // of a run whose trials may have had other than one GPU alone: no row has its seconds
};
void rb_record_finish(struct rb_record *r);

// One run: its plan, and the text of its events.jsonl. name: for messages. Errors: other parameters, another metric or
// max_resource than the first run's; a line that is no event (a last one that was cut is ignored).
bool rb_record_add(struct rb_record *r, const struct rb_plan *plan, const char *name, const char *events, size_t n,
                   struct rb_err *err);

void rb_record_write_family(const struct rb_record *r, struct rb_buf *out); // FAMILY.yaml
void rb_record_write_rows(const struct rb_record *r, struct rb_buf *out);   // FAMILY_TASK.csv

#endif
