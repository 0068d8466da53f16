// Writes a plan and the data shown beside it, rb-plan-page/1 (docs/formats/page.md), as a page for a browser and as a
// picture of its stages.
#ifndef RB_VIEWS_PLAN_DOCUMENT_H
#define RB_VIEWS_PLAN_DOCUMENT_H

#include "engine/plan/plan.h"
#include "planner/questions/beside_plan.h"
#include "planner/questions/best_for.h"
#include "simulator/model/distribution.h"
#include "simulator/world/timeline.h"

struct rb_plan_document {
    const struct rb_plan *plan;
    struct rb_timeline timeline;
    struct rb_distribution distribution;
    struct rb_beside_plan beside;
    const struct rb_best_for *best_for; // whose plan it is; NULL: its search was given
    int64_t written_at_us;
};

// Fills timeline and, with curves, distribution, from the first simulated runs of those behind the estimate.
bool rb_plan_document_simulate(struct rb_plan_document *x, int threads, bool curves, struct rb_err *err);
bool rb_plan_document_save_page(const struct rb_plan_document *x, const char *path, struct rb_err *err);
bool rb_plan_document_save_gantt(const struct rb_plan_document *x, const char *path, struct rb_err *err);

#endif
