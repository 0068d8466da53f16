// Training speeds of GPUs relative to each other: fp16 or bf16, one GPU, geometric mean over seven tasks, with the standard
// deviation of the logarithm over the tasks. 1 is an A100 SXM of 80 GB.
// Source: computed from lambdal/deeplearning-benchmark, commit aa5addb (PyTorch results: SSD, BERT base and large, GNMT, ResNet-50,
// Tacotron 2, WaveGlow). Rows without a common table are priors, and called so.
#ifndef RB_PROFILES_GPU_SPEEDS_H
#define RB_PROFILES_GPU_SPEEDS_H

#include <stdbool.h>

struct rb_gpu_speed {
    const char *name;          // as in price lists
    double mean, log_sd;
    double resnet50, bert;     // of these two tasks; 0: not measured
    bool is_prior;             // no common measurement was found
};

extern const struct rb_gpu_speed rb_gpu_speeds[]; // the last one has no name
extern const char rb_gpu_speeds_source[];

// Upper and lower case, blanks, dashes and the words NVIDIA and Tesla do not matter. NULL: not in the table.
const struct rb_gpu_speed *rb_gpu_speed_find(const char *name);

#endif
