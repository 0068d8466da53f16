// What a learning sampler is worth in the law of quality: n of its trials find as good a best as g(n) n random ones.
//
// g was measured with bench/search/quality.c: ASHA (eta 3) with one worker on 29 tables of 1000 configurations, five
// seeds: n random trials that reach the same mean final normal score (bench/results/quality.md). With many workers a
// sampler knows less when it proposes, and is worth less.
#ifndef RB_PLANNER_QUALITY_GAIN_H
#define RB_PLANNER_QUALITY_GAIN_H

// Linear in ln n between measured n, constant beyond them; 1 at n = 1. A sampler that was not measured, a program, and
// NULL count as random: 1. *out_source: where it is from, for people; NULL: it counts as random because nothing else is
// known.
double rb_sampler_gain(const char *sampler, double trials, const char **out_source);

#endif
