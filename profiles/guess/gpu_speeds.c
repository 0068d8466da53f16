#include "profiles/guess/gpu_speeds.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

const char rb_gpu_speeds_source[] =
    "relative speeds of GPUs over seven training tasks, from lambdal/deeplearning-benchmark";

const struct rb_gpu_speed rb_gpu_speeds[] = {
    {.name = "T4", .mean = .12, .log_sd = .45, .is_prior = true},
    {.name = "L4", .mean = .25, .log_sd = .4, .is_prior = true},
    {.name = "V100", .mean = .34, .log_sd = .4, .resnet50 = .53, .bert = .38},
    {.name = "V100-16GB", .mean = .34, .log_sd = .4, .resnet50 = .53, .bert = .38},
    {.name = "A10", .mean = .32, .log_sd = .15, .resnet50 = .4, .bert = .28},
    {.name = "A10G", .mean = .32, .log_sd = .25, .resnet50 = .4, .bert = .28, .is_prior = true}, // as A10, less power
    {.name = "RTX4090", .mean = .68, .log_sd = .15},
    // Price lists name 40 GB SXM cards A100. The table has the 40 GB PCIe card (.79) and the 80 GB SXM card (1).
    {.name = "A100", .mean = .89, .log_sd = .12, .is_prior = true},
    {.name = "A100-40GB", .mean = .89, .log_sd = .12, .is_prior = true},
    {.name = "A100-40GB-PCIe", .mean = .79, .log_sd = .11},
    {.name = "A100-80GB-PCIe", .mean = .95, .log_sd = .02},
    {.name = "A100-80GB", .mean = 1, .log_sd = .02},
    {.name = "H100-PCIe", .mean = 1.24, .log_sd = .13},
    {.name = "H100", .mean = 1.84, .log_sd = .12, .resnet50 = 1.76, .bert = 2.05},
    {.name = "H100-80GB", .mean = 1.84, .log_sd = .12, .resnet50 = 1.76, .bert = 2.05},
    // The H100's x 1.1: the same processor with faster memory, between 1 and the 1.21 of MLPerf's Llama 2 70B LoRA.
    {.name = "H200", .mean = 2.02, .log_sd = .2, .is_prior = true},
    {.name = "GH200", .mean = 1.9, .log_sd = .1},
    {.name = "B200", .mean = 2.96, .log_sd = .25, .resnet50 = 1.94, .bert = 3.44},
    {0},
};

// The next letter or digit that counts; '\0' at the end.
static char next_letter(const char **p)
{
    for (;;) {
        if (strncasecmp(*p, "nvidia", 6) == 0)
            *p += 6;
        else if (strncasecmp(*p, "tesla", 5) == 0)
            *p += 5;
        else if (**p && !isalnum((unsigned char)**p))
            ++*p;
        else
            break;
    }
    return **p ? (char)toupper((unsigned char)*(*p)++) : '\0';
}

static bool is_same(const char *a, const char *b)
{
    char x, y;
    do {
        x = next_letter(&a);
        y = next_letter(&b);
    } while (x == y && x);
    return x == y;
}

const struct rb_gpu_speed *rb_gpu_speed_find(const char *name)
{
    for (const struct rb_gpu_speed *row = rb_gpu_speeds; row->name; row++)
        if (is_same(row->name, name))
            return row;
    return NULL;
}
