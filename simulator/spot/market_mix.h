// Several spot markets as one chain that a dynamic programme can carry: which kind of node could be had now, or for how
// long there has been none. A kind is a class of (market, age) with similar mean time to loss; with one market it is
// the age. Transitions are counted along one long path of all markets' chains, on which losses in a region come
// together as the profile's region_factor says. Deterministic: the path's draws are keyed.
#ifndef RB_SIMULATOR_MARKET_MIX_H
#define RB_SIMULATOR_MARKET_MIX_H

#include "base/stream.h"
#include "simulator/spot/market_chain.h"

#define RB_MARKET_MOST 32 // markets in one mix

struct rb_market_source {
    const struct rb_spells *spells;
    int region; // markets with equal numbers lie in one region
};

// Chances of one tick. States 0 .. RB_MARKET_AGES - 1: the best node that could be had is of this class, 0 the shortest
// life; RB_MARKET_AGES + a: no market has given any for an age a.
struct rb_market_mix {
    double tick_s;
    int n_markets;
    struct rb_market_chain chains[RB_MARKET_MOST];
    double region_factor[RB_MARKET_MOST]; // >= 1
    int region[RB_MARKET_MOST];
    int class_of[RB_MARKET_MOST][RB_MARKET_AGES];
    double next[RB_MARKET_STATES][RB_MARKET_STATES]; // not on spot; rows sum to 1
    double kept[RB_MARKET_AGES][RB_MARKET_AGES];     // a node of a class is kept, and is then of this class
    double lost[RB_MARKET_AGES][RB_MARKET_STATES];   // it is lost, and this could be had; rows of both sum to 1
    double share[RB_MARKET_STATES];                  // of time
};

// n > 0, at most RB_MARKET_MOST.
void rb_market_mix_init(struct rb_market_mix *mix, const struct rb_market_source *sources, int n, double tick_s);

// The market with the oldest node, its age in whole ticks and times the chance that it grants one: nodes that have lasted
// last, and an age is seen, while the hazard of one zone is a guess from a few losses in other weeks (measured:
// bench/results/spot.md). Among equals the one that keeps a node longest, its hazard counting region_factor times where
// another of the region was lost less than half an hour ago: lost_ago_s by market, INFINITY: never; NULL: nothing is known
// of losses. -1: none can have a node.
int rb_market_mix_best(const struct rb_market_mix *mix, const struct rb_market_state *states, const double *lost_ago_s);
// The mix's state where `best` grants a node; best -1: where none does.
int rb_market_mix_state(const struct rb_market_mix *mix, const struct rb_market_state *states, int best);

// Markets that move on from tick to tick as the chains say.
struct rb_market_walk {
    const struct rb_market_mix *mix;
    struct rb_stream draws;
    int tick;
    int since[RB_MARKET_MOST];   // the tick in which it came up or went down
    int lost_at[RB_MARKET_MOST]; // in which it last went down; long ago where it has not
    bool up[RB_MARKET_MOST];
    int age[RB_MARKET_MOST]; // of the chain: a class of ages
};

// All markets up and young. The draws are those of the replicate.
void rb_market_walk_begin(struct rb_market_walk *w, const struct rb_market_mix *mix, uint32_t replicate);
void rb_market_walk_step(struct rb_market_walk *w);

#endif
