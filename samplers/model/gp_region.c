#include "samplers/model/gp_region.h"

#include <math.h>

#define FIRST_LENGTH 0.8
#define MOST_LENGTH  1.6
#define LEAST_LENGTH 0.0078125 // 2^-7: the region begins again
#define SUCCESSES    3

double rb_region_length(const struct rb_history *h)
{
    const int most_failures = h->n_coordinates > 4 ? h->n_coordinates : 4;
    double length = FIRST_LENGTH, best = -INFINITY;
    int successes = 0, failures = 0;
    for (int i = 0; i < h->n_results; i++) {
        if (h->results[i].before >= 0)
            continue;
        const bool success = h->results[i].score > best;
        best = success ? h->results[i].score : best;
        successes = success ? successes + 1 : 0;
        failures = success ? 0 : failures + 1;
        if (successes == SUCCESSES) {
            length = fmin(MOST_LENGTH, 2 * length);
            successes = 0;
        } else if (failures == most_failures) {
            length = length / 2 < LEAST_LENGTH ? FIRST_LENGTH : length / 2;
            failures = 0;
        }
    }
    return length;
}

void rb_region_draw(const struct rb_coordinates *c, const struct rb_gp_hyper *hyper, const double *centre,
                    double length, struct rb_stream *s, double *u)
{
    double mean = 0;
    for (int j = 0; j < c->n; j++)
        mean += log(hyper->length[j]) / c->n;
    for (int j = 0; j < c->n; j++) {
        const double draw = rb_stream_uniform(s), again = rb_stream_uniform(s);
        const double side = length * hyper->length[j] / exp(mean);
        if (isnan(centre[j]) || (c->items[j].is_choice && draw < length / 2))
            u[j] = again;
        else if (c->items[j].is_choice)
            u[j] = centre[j];
        else
            u[j] = fmax(0, fmin(1, centre[j] + side * (draw - 0.5)));
    }
}
