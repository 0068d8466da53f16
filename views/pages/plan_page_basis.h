// The end of a plan's page: its sources. Prices with their age, the methods and errors of the estimate, the profile,
// warnings.
#ifndef RB_VIEWS_PLAN_PAGE_BASIS_H
#define RB_VIEWS_PLAN_PAGE_BASIS_H

#include "engine/plan/plan.h"
#include "views/pages/page.h"

struct rb_plan_page_made {
    const char *written_at; // the same instant in two forms
    int64_t written_at_us;
    int64_t curve_runs, timeline_runs; // simulated
};

void rb_plan_page_prices(const struct rb_plan *plan, const struct rb_plan_page_made *made, struct rb_page *page);
void rb_plan_page_basis(const struct rb_plan *plan, const struct rb_plan_page_made *made, struct rb_page *page);

#endif
