// Random groups of trials to be packed, by Fluid's overhead model (MLSys'21, section 4.2.2) and by curves without it.
#ifndef RB_BENCH_PACKING_GROUPS_H
#define RB_BENCH_PACKING_GROUPS_H

#include "engine/packing/fluid_widths.h"

#define RB_STUDY_MOST_TRIALS 64
#define RB_STUDY_MOST_WIDTHS 14

enum rb_study_curve {
    RB_CURVE_OVERHEAD,      // h_1 alpha^(1/w - 1) on a share, h_1 / w beta^(w - 1) on GPUs, alpha and beta drawn
    RB_CURVE_NO_FREE_LUNCH, // a share takes as much longer as it is smaller; GPUs as above
    RB_CURVE_IDEAL,         // a share takes no longer than the whole GPU, GPUs scale linearly
    RB_N_CURVES,
};
const char *rb_study_curve_name(enum rb_study_curve curve);

struct rb_study_group {
    struct rb_pack_group group;        // passed rb_pack_group_check; points into what follows
    enum rb_study_curve curve;
    double alpha, beta;
    struct rb_fluid_caps caps;         // c and d as measured on these curves
    struct rb_width widths[RB_STUDY_MOST_WIDTHS];
    double factor[RB_STUDY_MOST_WIDTHS]; // time at each width over that on one GPU
    int64_t height_us[RB_STUDY_MOST_TRIALS * RB_STUDY_MOST_WIDTHS];
    int64_t unit_us[RB_STUDY_MOST_TRIALS]; // of one unit of resource on one GPU
};

// GPUs 4..32, trials 1..most_trials, up to 6 on one GPU, up to 8 GPUs for one: by (seed, index) alone.
void rb_study_group_draw(uint64_t seed, uint32_t index, int most_trials, struct rb_study_group *out);

#endif
