#include "profiles/guess/guess_priors.h"

#include <math.h>
#include <string.h>

// --- speeds ---

static double speed_of(const struct rb_gpu_speed *gpu, enum rb_guess_kind kind)
{
    const double of_kind = kind == RB_GUESS_CNN ? gpu->resnet50 : kind == RB_GUESS_ANY ? 0 : gpu->bert;
    return of_kind > 0 ? of_kind : gpu->mean;
}

double rb_prior_speed_ratio(const struct rb_gpu_speed *a, const struct rb_gpu_speed *b, enum rb_guess_kind kind)
{
    const bool both = kind == RB_GUESS_CNN ? a->resnet50 > 0 && b->resnet50 > 0 : a->bert > 0 && b->bert > 0;
    const enum rb_guess_kind by = both ? kind : RB_GUESS_ANY;
    return speed_of(a, by) / speed_of(b, by);
}

double rb_prior_speed_log_sd(const struct rb_gpu_speed *a, const struct rb_gpu_speed *b)
{
    return sqrt(rb_prior_squared(a->log_sd) + rb_prior_squared(b->log_sd));
}

const char *rb_prior_speed_source(const struct rb_gpu_speed *a, const struct rb_gpu_speed *b)
{
    return a->is_prior || b->is_prior ? "a prior" : rb_gpu_speeds_source;
}

// --- several GPUs ---

double rb_prior_speedup(double scaling, int gpus)
{
    return pow(gpus, log(scaling) / log(RB_PRIOR_GPUS));
}

void rb_prior_layouts(double scaling, int most, struct rb_arena *arena, struct rb_training *t)
{
    int n = 0;
    struct rb_layout *layouts = rb_arena_array(arena, (size_t)most, sizeof *layouts);
    for (int gpus = 1; gpus <= most; gpus *= 2)
        layouts[n++] =
            (struct rb_layout){.gpus = gpus, .nodes = 1, .speedup = gpus > 1 ? rb_prior_speedup(scaling, gpus) : 1};
    t->layouts = layouts;
    t->n_layouts = n;
    t->max_gpus = most;
    t->max_nodes = 1;
}

// --- machines ---

struct rb_dist rb_prior_lognormal(double median, double log_sd)
{
    struct rb_dist d = {.kind = RB_DIST_LOGNORMAL,
                        .mean = median * exp(rb_prior_squared(log_sd) / 2),
                        .cv = sqrt(expm1(rb_prior_squared(log_sd)))};
    rb_dist_prepare(&d, NULL);
    return d;
}

// Medians and log_sd of the suggested defaults for a first plan, with the spread half as large again. A request fails for want of
// capacity more often where GPUs are scarce. The hazard of spot is the highest band of the AWS Spot Instance Advisor: 35 % a month.
struct rb_provisioning rb_prior_provisioning(const struct rb_offer *o)
{
    const char *accelerator = o->accelerator;
    const bool large = o->gpus >= 4, local = strcmp(o->infra, "local") == 0;
    const bool rare = strncmp(accelerator, "H100", 4) == 0 || strncmp(accelerator, "B200", 4) == 0 ||
                      strncmp(accelerator, "H200", 4) == 0 || strncmp(accelerator, "GH200", 5) == 0;
    const bool scarce = strncmp(accelerator, "A100", 4) == 0;
    struct rb_provisioning p = {
        .infra = o->infra, .instance_type = o->instance_type, .market = rb_market_name(o->market)};
    p.queue_s = local ? rb_prior_lognormal(.05, .5) : large ? rb_prior_lognormal(60, .9) : rb_prior_lognormal(20, .75);
    p.init_s = local ? rb_prior_lognormal(.5, .5) : large ? rb_prior_lognormal(150, .6) : rb_prior_lognormal(45, .525);
    p.capacity_failure = local ? 0 : rare ? .4 : scarce ? .2 : .05;
    p.has_preemption = o->market == RB_MARKET_SPOT;
    p.preemption_per_hour = p.has_preemption ? 6e-4 : 0;
    return p;
}
