// Shared by the three files that read rb-plan/1, and only by them: plan_read.c (the document), plan_read_prices.c (offers and
// prices), plan_read_stages.c (stages, which must agree with the job).
#ifndef RB_ENGINE_PLAN_READ_H
#define RB_ENGINE_PLAN_READ_H

#include "engine/plan/plan.h"

// A required text, copied into `arena`; may be empty.
bool rb_plan_need_string(struct rb_map *m, const char *key, struct rb_arena *arena, const char **out,
                         struct rb_err *err);
bool rb_plan_read_instant(const struct rb_node *node, int64_t *out_us, struct rb_err *err); // unix, after 1970

// infra, instance_type and market of a map -> the named offer of plan->offers.
bool rb_plan_need_offer(struct rb_map *m, const struct rb_plan *plan, int *out, struct rb_err *err);

// plan->offers.
bool rb_plan_read_prices(const struct rb_node *list, struct rb_arena *arena, struct rb_plan *plan, struct rb_err *err);
// plan->catalog, from plan->job and plan->offers. `list` is NULL exactly where the job asks for no disk; else every
// offer's infra has a price in it.
bool rb_plan_read_disks(const struct rb_node *root, const struct rb_node *list, struct rb_arena *arena,
                        struct rb_plan *plan, struct rb_err *err);
bool rb_plan_read_fallbacks(const struct rb_node *list, struct rb_arena *arena, struct rb_plan *plan,
                            struct rb_err *err);

// plan->job and plan->offers are there already. The estimate of every stage is p5 = p99 = 0: files do not carry them.
bool rb_plan_read_stages(const struct rb_node *list, struct rb_arena *arena, struct rb_plan *plan, struct rb_err *err);

#endif
