#include "planner/request/memory.h"

#include "planner/request/plan_space.h"

#define DRAWS_PART 2 // of the limit: largest part for kept draws, which only save time

static int64_t limit_of(const struct rb_plan_request *req)
{
    return req->memory_limit_bytes > 0 ? req->memory_limit_bytes : RB_MEMORY_LIMIT;
}

double rb_search_memory_limit(const struct rb_search *search)
{
    return (double)limit_of(search->req);
}

size_t rb_memory_for_draws(const struct rb_plan_request *req, size_t worth_bytes)
{
    const size_t part = (size_t)limit_of(req) / DRAWS_PART;
    return worth_bytes < part ? worth_bytes : part;
}

double rb_search_memory_for_tables(const struct rb_search *search)
{
    return rb_search_memory_limit(search) - (double)rb_scenario_kept_bytes(search->scenario);
}

double rb_table_bytes(double n_cells, int n_samples)
{
    return n_cells * (2.0 * n_samples * sizeof(double) + sizeof(struct rb_stage_sample *));
}
