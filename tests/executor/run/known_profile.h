// A profile of what the fake cloud and its trials do, about, for predictions of their runs.
#ifndef RB_TESTS_KNOWN_PROFILE_H
#define RB_TESTS_KNOWN_PROFILE_H

#include "profiles/store/profile.h"
#include "tests/base/check.h"

static inline struct rb_dist lognormal(double mean, double cv)
{
    struct rb_dist d = {.kind = RB_DIST_LOGNORMAL, .mean = mean, .cv = cv};
    struct rb_err err;
    if (!rb_dist_prepare(&d, &err))
        fail_msg("%s", err.message);
    return d;
}

static const struct rb_layout layouts[] = {{2, 1, 1.0}, {4, 1, 1.8}};

// What the fake cloud and its trials do, about.
struct known {
    struct rb_training training;
    struct rb_provisioning provisioning;
    struct rb_profile profile;
};

static inline void know(struct known *k)
{
    *k = (struct known){
        .training = {.accelerator = "A", .base_s = 20, .layouts = layouts, .n_layouts = 2, .relative_error = 0.05},
        .provisioning = {.infra = "*",
                         .instance_type = "*",
                         .market = "*",
                         .queue_s = lognormal(5, 0.3),
                         .init_s = lognormal(5, 0.3)},
    };
    k->profile = (struct rb_profile){.name = "fake",
                                     .unit = "epoch",
                                     .source = "",
                                     .training = &k->training,
                                     .n_training = 1,
                                     .between = lognormal(1, 0.17),
                                     .within = lognormal(1, 0.05),
                                     .startup_s = lognormal(5, 0.1),
                                     .checkpoint_s = rb_dist_constant(0),
                                     .provisioning = &k->provisioning,
                                     .n_provisioning = 1};
}

#endif
