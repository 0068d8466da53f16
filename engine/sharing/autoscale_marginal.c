// Ours. A node is worth its money while what it adds is at least a share (a quarter, unless another is asked for) of what its
// price buys on the first GPU: the mean may still look fine when the last node adds next to nothing. A change must besides
// pay, over the time jobs are expected to stay, for what it costs: nodes that are billed while they boot, and jobs that are
// moved. Jobs are expected to stay for as long again as they have been there: of heavy-tailed service that is the better guess.
// Deadlines come first: the cluster is never smaller than they need, with the confidence asked for.
#include "engine/sharing/autoscales.h"
#include "engine/sharing/size_deadlines.h"
#include "engine/sharing/size_speedup.h"

#include "base/arena.h"

#include <stdlib.h>

struct marginal {
    struct rb_autoscale_options options;
    double *speedup; // by nodes, [max_nodes + 1]
};

static bool create(const struct rb_autoscale_options *options, void **out_state, struct rb_err *err)
{
    (void)err;
    struct marginal *m = rb_xcalloc(1, sizeof *m);
    m->options = *options;
    m->speedup = rb_xcalloc((size_t)options->max_nodes + 1, sizeof *m->speedup);
    *out_state = m;
    return true;
}

static void destroy(void *state)
{
    struct marginal *m = state;
    free(m->speedup);
    free(m);
}

// Speed-up less what it costs, per second, in GPUs of the first kind.
static double profit(const struct marginal *m, int n)
{
    return m->speedup[n] - m->options.least_worth * m->options.gpus_per_node * n;
}

static int most_profitable(const struct marginal *m)
{
    int best = m->options.min_nodes;
    for (int n = m->options.min_nodes + 1; n <= m->options.max_nodes; n++)
        best = profit(m, n) > profit(m, best) ? n : best;
    return best;
}

static double stay_s(const struct marginal *m, const struct rb_autoscale_view *view)
{
    double sum_us = 0;
    for (int i = 0; i < view->n_jobs; i++)
        sum_us += (double)view->jobs[i].age_us;
    const double mean_us = sum_us / view->n_jobs;
    return (mean_us > (double)m->options.round_us ? mean_us : (double)m->options.round_us) / 1e6;
}

static double cost_of_change(const struct marginal *m, int from, int to)
{
    const double moved = (double)m->options.restart_us / 1e6 * m->speedup[from];
    const double booting = to > from ? m->options.least_worth * m->options.gpus_per_node * (to - from) *
                                           ((double)m->options.provision_us / 1e6)
                                     : 0;
    return moved + booting;
}

static int decide(void *state, int64_t now_us, const struct rb_autoscale_view *view)
{
    (void)now_us;
    struct marginal *m = state;
    if (view->n_jobs == 0)
        return m->options.min_nodes;
    rb_size_speedup(view, m->options.max_nodes, m->options.gpus_per_node, m->speedup);
    const int owned = view->n_owned > m->options.min_nodes ? view->n_owned : m->options.min_nodes;
    const int needed = rb_size_for_deadlines(view, &m->options);
    if (needed > owned)
        return needed; // whatever it costs
    const int worth = most_profitable(m), size = worth > needed ? worth : needed;
    const double gain = (profit(m, size) - profit(m, owned)) * stay_s(m, view);
    return gain > cost_of_change(m, owned, size) ? size : owned;
}

const struct rb_autoscale rb_autoscale_marginal = {
    .name = "marginal",
    .summary = "as long as one node more adds a quarter of what its price buys on the first GPU, and the change pays",
    .least_worth = 0.25,
    .create = create,
    .destroy = destroy,
    .decide = decide,
};
