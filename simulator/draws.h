// The draws of one replicate, keyed by purpose, stage, index, attempt and replicate. Both the virtual world and the
// Monte Carlo evaluator draw here and only here, so the same key gives the same microsecond in both.
#ifndef RB_SIMULATOR_DRAWS_H
#define RB_SIMULATOR_DRAWS_H

#include "simulator/scenario.h"

// Node request: key (stage of the request, ordinal, attempt).
int64_t rb_draw_queue_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt, uint32_t replicate);
int64_t rb_draw_init_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt, uint32_t replicate);
bool rb_draw_refused(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt, uint32_t replicate);
// From running to preemption; INT64_MAX: never.
int64_t rb_draw_preemption_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                              uint32_t replicate);
// Duration of position k in a stage: startup + sum of units + checkpoint, rounded once to the microsecond.
// unit_s from rb_scenario_unit_s.
int64_t rb_draw_trial_us(const struct rb_scenario *s, int stage, int position, int attempt, uint32_t replicate,
                         int64_t units, double unit_s);

#endif
