#include "planner/memory.h"

#include "planner/plan_space.h"

double rb_search_memory_limit(const struct rb_search *search)
{
    return (double)(search->req->memory_limit_bytes > 0 ? search->req->memory_limit_bytes : RB_MEMORY_LIMIT);
}

bool rb_search_out_of_memory(const struct rb_search *search, double more_bytes)
{
    double bytes = more_bytes + (double)rb_run_store_bytes(search->runs) + (double)rb_plan_space_bytes(search->space);
    if (search->times)
        bytes += (double)rb_stage_times_bytes(search->times);
    return bytes > rb_search_memory_limit(search);
}

double rb_table_bytes(double n_cells, int n_samples)
{
    return n_cells * (2.0 * n_samples * sizeof(double) + sizeof(struct rb_stage_sample *));
}
