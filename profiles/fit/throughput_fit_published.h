// Repeats the throughput fit of Pollux's released simulator step by step, for `rbsim --rules osdi21` only. Where samples are
// few, its result is not the minimum of its objective but the point where its descent stops at the kink of an exact fit. The
// published comparison of schedulers used those results. Everything else calls rb_throughput_fit.
#ifndef RB_PROFILES_THROUGHPUT_FIT_PUBLISHED_H
#define RB_PROFILES_THROUGHPUT_FIT_PUBLISHED_H

#include "profiles/fit/throughput.h"

// samples: at least one; 0 <= sync_s < step_s. Whole iterations without accumulation, as in rb_throughput_sample.
void rb_throughput_fit_published(const struct rb_throughput_sample *samples, int n, struct rb_throughput *out);

#endif
