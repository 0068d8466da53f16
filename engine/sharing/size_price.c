#include "engine/sharing/size_price.h"

double rb_size_price(const struct rb_autoscale_options *options, int n)
{
    if (!options->rates)
        return n;
    int64_t sum_uusd = 0;
    for (int i = 0; i < n; i++)
        sum_uusd += options->rates[i].uusd_per_hour;
    return (double)sum_uusd / (double)options->rates[0].uusd_per_hour;
}

static bool all_have_a_value(const struct rb_autoscale_view *view)
{
    for (int i = 0; i < view->n_jobs; i++) {
        if (!view->jobs[i].has_value)
            return false;
    }
    return true;
}

static double value(const struct rb_autoscale_options *o, const struct rb_autoscale_view *view)
{
    double sum_uusd = 0;
    for (int i = 0; i < view->n_jobs; i++)
        sum_uusd += (double)view->jobs[i].value.uusd_per_hour;
    return sum_uusd / (double)o->rates[0].uusd_per_hour;
}

double rb_size_worth(const struct rb_autoscale_options *options, const struct rb_autoscale_view *view,
                     const double *speedup)
{
    if (!options->rates || !all_have_a_value(view))
        return options->least_worth;
    const double waiting = value(options, view);
    double best = 0;
    for (int n = 1; n <= options->max_nodes; n++) {
        const double bought = speedup[n] / ((waiting + rb_size_price(options, n)) * options->gpus_per_node);
        best = bought > best ? bought : best;
    }
    return best;
}
