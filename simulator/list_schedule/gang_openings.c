#include "simulator/list_schedule/gang_openings.h"

#include <math.h>

// Of what normal openings and times would give: kinks of the end as a function of the openings, and skewness. Tested.
#define CAUTION 4

int rb_gang_rank(const struct rb_gang *gang, int slot)
{
    return (slot + 1) * gang->nodes_per_slot - gang->nodes_left;
}

// Of the a-th and the b-th of m arrivals, a < b: as for uniform numbers.
static double correlation(int a, int b, int m)
{
    return sqrt((double)a * (m + 1 - b) / ((double)b * (m + 1 - a)));
}

double rb_gang_dependence_error(const struct rb_gang *gang, const struct rb_law *const *openings, int n_slots,
                                int slots, double end_variance_s2)
{
    double covariance_s2 = 0;
    for (int i = 0; i < n_slots; i++) {
        for (int j = i + 1; j < n_slots; j++)
            covariance_s2 += 2 * sqrt(openings[i]->variance_s2 * openings[j]->variance_s2) *
                             correlation(rb_gang_rank(gang, i), rb_gang_rank(gang, j), gang->new_nodes);
    }
    // An opening that is later by a second makes the end later by a share of it, all of them together by no more than one.
    const double missing_s2 = covariance_s2 / ((double)slots * slots);
    // Half of what the variance lacks times the density's steepest slope, 0.242 / variance for a normal one.
    return CAUTION * 0.121 * missing_s2 / end_variance_s2;
}
