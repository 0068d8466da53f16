// The published rule. Utility is the value of a GPU of the cluster, relative to one alone: above 2/3 the cluster grows,
// and below 1/2 it shrinks, to the largest size with a predicted utility of 1/2; both follow the configured least
// worth.
// Source: Pollux (OSDI'21), sections 4.2.2 and 5.4.1.
#include "engine/sharing/autoscales.h"
#include "engine/sharing/size_speedup.h"

#define GROWS_ABOVE (4.0 / 3) // of the least worth

static double worth(const struct rb_sizer *u, int n)
{
    return n > 0 ? u->speedup[n] / (n * u->options.gpus_per_node) : 1;
}

static int largest_worth(const struct rb_sizer *u, double least)
{
    for (int n = u->options.max_nodes; n > u->options.min_nodes; n--) {
        if (worth(u, n) >= least)
            return n;
    }
    return u->options.min_nodes;
}

static int decide(void *state, int64_t now_us, const struct rb_autoscale_view *view)
{
    (void)now_us;
    struct rb_sizer *u = state;
    if (view->n_jobs == 0)
        return u->options.min_nodes;
    rb_size_speedup(view, u->options.max_nodes, u->options.gpus_per_node, u->speedup);
    const int owned = view->n_owned > u->options.min_nodes ? view->n_owned : u->options.min_nodes;
    const double now = worth(u, owned);
    const double least = u->options.least_worth;
    if (now >= least && now <= GROWS_ABOVE * least)
        return owned;
    const int size = largest_worth(u, least);
    return (now > GROWS_ABOVE * least && size < owned) ? owned : size;
}

const struct rb_autoscale rb_autoscale_utility = {
    .name = "utility",
    .summary = "the published rule: grow above 2/3 of what one GPU is worth, to where it is 1/2",
    .least_worth = 0.5,
    .create = rb_sizer_create,
    .destroy = rb_sizer_destroy,
    .decide = decide,
};

// The baseline of section 5.4.1: the same rule for jobs that know only their throughput, as Or et al. ("Resource
// elasticity in distributed deep learning", MLSys'20) scale them. Throughput does not change while a job trains, so the
// cluster grows at once.
const struct rb_autoscale rb_autoscale_throughput = {
    .name = "throughput",
    .summary = "the published rule's baseline: the same by samples a second, whatever a sample is worth",
    .least_worth = 0.5,
    .by_throughput = true,
    .create = rb_sizer_create,
    .destroy = rb_sizer_destroy,
    .decide = decide,
};
