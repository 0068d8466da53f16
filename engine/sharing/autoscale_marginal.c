// Ours. A node is worth its price while it adds at least what that money must buy (sharing/size_price.h): a share (a
// quarter by default) of what it buys on the first GPU; or, where jobs state the value of an hour, the amount that
// makes the work cheapest. The mean may still look fine when the last node adds almost nothing. A change must also pay,
// over the expected stay of the jobs, for its cost: nodes that are billed while they boot, and jobs that move.
// Deadlines come first: the cluster is never smaller than they need, with the confidence required.
#include "engine/sharing/autoscales.h"
#include "engine/sharing/give_up.h"
#include "engine/sharing/size_deadlines.h"
#include "engine/sharing/size_price.h"
#include "engine/sharing/size_speedup.h"

// Speed-up minus its required value, per second.
static double profit(const struct rb_sizer *m, double worth, int n)
{
    return m->speedup[n] - worth * m->options.gpus_per_node * rb_size_price(&m->options, n);
}

static int most_profitable(const struct rb_sizer *m, double worth)
{
    int best = m->options.min_nodes;
    for (int n = m->options.min_nodes + 1; n <= m->options.max_nodes; n++)
        best = profit(m, worth, n) > profit(m, worth, best) ? n : best;
    return best;
}

static double cost_of_change(const struct rb_sizer *m, double worth, int from, int to)
{
    const double moved = (double)m->options.restart_us / 1e6 * m->speedup[from];
    if (to <= from)
        return moved;
    const double more = rb_size_price(&m->options, to) - rb_size_price(&m->options, from);
    return moved + worth * m->options.gpus_per_node * more * ((double)m->options.provision_us / 1e6);
}

static int decide(void *state, int64_t now_us, const struct rb_autoscale_view *view)
{
    (void)now_us;
    struct rb_sizer *m = state;
    if (view->n_jobs == 0)
        return m->options.min_nodes;
    rb_size_speedup(view, m->options.max_nodes, m->options.gpus_per_node, m->speedup);
    const int owned = view->n_owned > m->options.min_nodes ? view->n_owned : m->options.min_nodes;
    const int needed = rb_size_for_deadlines(view, &m->options);
    if (needed > owned)
        return needed; // at any price
    const double worth = rb_size_worth(&m->options, view, m->speedup);
    const int best = most_profitable(m, worth), size = best > needed ? best : needed;
    const double gain =
        (profit(m, worth, size) - profit(m, worth, owned)) * rb_expected_stay_s(view, m->options.round_us);
    return gain > cost_of_change(m, worth, owned, size) ? size : owned;
}

const struct rb_autoscale rb_autoscale_marginal = {
    .name = "marginal",
    .summary =
        "as long as one node more adds a quarter of what its price buys on the first GPU, or what jobs say an hour is "
        "worth, and the change pays",
    .least_worth = 0.25,
    .create = rb_sizer_create,
    .destroy = rb_sizer_destroy,
    .decide = decide,
};
