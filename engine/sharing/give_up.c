#include "engine/sharing/give_up.h"

#include <assert.h>

double rb_expected_stay_s(const struct rb_autoscale_view *view, int64_t round_us)
{
    double sum_us = 0;
    for (int i = 0; i < view->n_jobs; i++)
        sum_us += (double)view->jobs[i].age_us;
    const double mean_us = view->n_jobs > 0 ? sum_us / view->n_jobs : 0;
    return (mean_us > (double)round_us ? mean_us : (double)round_us) / (double)RB_US_PER_S;
}

enum use { ON_ITS_WAY, IDLE, BUSY };

static enum use use_of(const struct rb_autoscale_view *view, int node)
{
    if (view->cluster->gpus[node] == 0)
        return ON_ITS_WAY;
    for (int i = 0; i < view->n_jobs; i++) {
        if (view->jobs[i].held[node] > 0)
            return BUSY;
    }
    return IDLE;
}

int rb_give_up(const struct rb_autoscale_view *view, int64_t restart_us, int64_t round_us)
{
    const double stay_s = rb_expected_stay_s(view, round_us), restart_s = (double)restart_us / (double)RB_US_PER_S;
    int best = -1;
    enum use best_use = BUSY;
    double most = 0;
    for (int node = view->cluster->n_nodes - 1; node >= 0; node--) {
        if (!view->owned[node])
            continue;
        const enum use use = use_of(view, node);
        const double price = view->cluster->rates ? (double)view->cluster->rates[node].uusd_per_hour : 1;
        const double saved = price * (stay_s - (use == BUSY ? restart_s : 0));
        if (best < 0 || saved > most || (saved >= most && use < best_use)) {
            best = node;
            best_use = use;
            most = saved;
        }
    }
    assert(best >= 0);
    return best;
}
