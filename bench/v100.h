// The profile of an imagined job on V100s, for benches of the virtual world: 1, 2, 4 and 8 GPUs of one node.
#ifndef RB_BENCH_V100_H
#define RB_BENCH_V100_H

#include "profiles/store/profile.h"

#include <stdlib.h>

enum { V100_LAYOUTS = 4 };

struct v100 {
    int sizes[V100_LAYOUTS];
    struct rb_layout layouts[V100_LAYOUTS];
    struct rb_training training;
    struct rb_provisioning provisioning;
    struct rb_profile profile;
};

static inline struct rb_dist v100_lognormal(double mean, double cv)
{
    struct rb_dist d = {.kind = RB_DIST_LOGNORMAL, .mean = mean, .cv = cv};
    if (!rb_dist_prepare(&d, NULL))
        abort();
    return d;
}

// The first n_layouts of them. The profile points into *v, which must not move.
static inline void v100_make(struct v100 *v, int n_layouts, double base_s)
{
    static const double speedups[V100_LAYOUTS] = {1, 1.87, 3.421, 5.598};
    for (int i = 0; i < n_layouts; i++) {
        v->sizes[i] = 1 << i;
        v->layouts[i] = (struct rb_layout){.gpus = 1 << i, .nodes = 1, .speedup = speedups[i]};
    }
    v->training = (struct rb_training){
        .accelerator = "V100", .base_s = base_s, .layouts = v->layouts, .n_layouts = n_layouts};
    v->provisioning = (struct rb_provisioning){.infra = "*",
                                               .instance_type = "*",
                                               .market = "*",
                                               .queue_s = v100_lognormal(18, 0.4),
                                               .init_s = v100_lognormal(60, 0.3),
                                               .has_preemption = true};
    v->profile = (struct rb_profile){.name = "bench",
                                     .training = &v->training,
                                     .n_training = 1,
                                     .between = v100_lognormal(1, 0.05),
                                     .within = v100_lognormal(1, 0.1),
                                     .startup_s = v100_lognormal(8, 0.3),
                                     .checkpoint_s = rb_dist_constant(2),
                                     .provisioning = &v->provisioning,
                                     .n_provisioning = 1};
}

#endif
