// The number of trials that this machine takes at once, and its accelerator. In a file of its own, so that programs
// that only plan on this machine link no cloud.
#include "providers/provider.h"

#include "base/limits.h"
#include "base/errors/log.h"
#include "base/text/number.h"
#include "providers/wire/child.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int clamp_slots(long n)
{
    return n < 1 ? 1 : n > RB_LIMIT_GPUS_PER_NODE ? RB_LIMIT_GPUS_PER_NODE : (int)n;
}

// Names of price lists that occur in nvidia-smi's product names; the more particular first.
static const char *accelerator_in(const char *product)
{
    static const char *const names[] = {"H200",  "H100", "GH200", "B200", "A100", "A10G", "A10", "A40",
                                        "A6000", "L40S", "L40",   "L4",   "V100", "P100", "T4",  "K80"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(product, names[i]))
            return names[i];
    return "GPU";
}

// One line per GPU; none if there is no driver.
static int count_gpus(const char **out_accelerator)
{
    static const char *const argv[] = {"nvidia-smi", "--query-gpu=name", "--format=csv,noheader", NULL};
    RB_AUTO(rb_buf_finish) struct rb_buf names = RB_BUF_INIT;
    const struct rb_child_options options = {.out = &names, .max_output_bytes = 64 << 10, .quiet = true};
    int n = 0;
    if (!rb_child_run(argv, &options, NULL))
        return 0;
    for (const char *c = rb_buf_str(&names); *c; c++)
        n += *c == '\n';
    if (n > 0) {
        names.data[strcspn(names.data, "\n")] = '\0';
        *out_accelerator = accelerator_in(names.data);
    }
    return n;
}

static int slots_by_choice(int detected)
{
    const char *text = getenv("RB_LOCAL_SLOTS");
    int64_t n;
    if (!text || !*text)
        return detected;
    if (rb_parse_int(text, &n) && n >= 1 && n <= RB_LIMIT_GPUS_PER_NODE)
        return (int)n;
    rb_warn("RB_LOCAL_SLOTS: expected 1..%d, got \"%s\"; using %d", RB_LIMIT_GPUS_PER_NODE, text, detected);
    return detected;
}

int rb_local_slots(bool of_cpus, const char **out_accelerator)
{
    const char *accelerator = "CPU";
    const int n_gpus = of_cpus ? 0 : count_gpus(&accelerator);
    if (n_gpus == 0)
        accelerator = "CPU";
    if (out_accelerator)
        *out_accelerator = accelerator;
    return slots_by_choice(clamp_slots(n_gpus > 0 ? n_gpus : sysconf(_SC_NPROCESSORS_ONLN)));
}
