#include "providers/quota.h"

struct rb_demand *rb_demands_copy(const struct rb_demand *demands, int n, struct rb_arena *arena)
{
    struct rb_demand *copies = rb_arena_array(arena, (size_t)n + 1, sizeof *copies);
    for (int i = 0; i < n; i++) {
        copies[i] = demands[i];
        copies[i].instance_type = rb_arena_strdup(arena, demands[i].instance_type);
        copies[i].accelerator = rb_arena_strdup(arena, demands[i].accelerator);
    }
    return copies;
}

double rb_demand_peak(const struct rb_demand *demands, int n, rb_demand_units_fn *units, const void *ctx)
{
    double peak = 0;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < n; k++)
            if (demands[k].moment == demands[i].moment)
                sum += demands[k].count * units(&demands[k], ctx);
        peak = sum > peak ? sum : peak;
    }
    return peak;
}
