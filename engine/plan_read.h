// Reading rb-plan/1 in two files: plan_read.c (the document), plan_read_stages.c (its stages, which must agree with the
// job). For those two alone.
#ifndef RB_ENGINE_PLAN_READ_H
#define RB_ENGINE_PLAN_READ_H

#include "engine/plan.h"

// Required members, by type.
bool rb_plan_need_int(struct rb_map *m, const char *key, int64_t min, int64_t max, int64_t *out, struct rb_err *err);
bool rb_plan_need_count(struct rb_map *m, const char *key, int min, int max, int *out, struct rb_err *err);
bool rb_plan_need_list(struct rb_map *m, const char *key, const struct rb_node **out, struct rb_err *err);

// infra, instance_type and market of a map -> the offer of plan->offers they name.
bool rb_plan_need_offer(struct rb_map *m, const struct rb_plan *plan, int *out, struct rb_err *err);

// plan->job and plan->offers are there already. The estimate of every stage is p5 = p99 = 0: files do not carry them.
bool rb_plan_read_stages(const struct rb_node *list, struct rb_arena *arena, struct rb_plan *plan, struct rb_err *err);

#endif
