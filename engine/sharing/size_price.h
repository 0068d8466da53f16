// Computes the price of nodes, and what a dollar must buy, in one unit: the price of the cheapest node.
#ifndef RB_ENGINE_SHARING_SIZE_PRICE_H
#define RB_ENGINE_SHARING_SIZE_PRICE_H

#include "engine/sharing/autoscale.h"

// The price of the first n nodes, in that unit: n if all cost the same, or if no price is known.
double rb_size_price(const struct rb_autoscale_options *options, int n);

// The speed-up that a GPU must add for the price of the cheapest. speedup: of n nodes, [max_nodes + 1].
//   no job says what time is worth   least_worth: that share of what the price buys on the first GPU
//   every job says it                max over n of speedup[n] / (value + price(n)) / gpus_per_node, value: of an hour sooner
//                                    of all jobs together, an hour's price being 1
// Then the size that gains most, max of speedup - worth x gpus_per_node x price, is the one at which the work costs least, nodes
// and waiting together: (value + price) / speedup is what a unit of progress costs.
double rb_size_worth(const struct rb_autoscale_options *options, const struct rb_autoscale_view *view,
                     const double *speedup);

#endif
