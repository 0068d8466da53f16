// A spot market (one zone and instance type) as a Markov chain: 8 ages with nodes and 8 without, in which it stays for
// geometric times. Made from the profile's spells: losses by the hazard of a node at its age, ends of a spell without
// nodes by the distribution of such spells. A value type; times are seconds, chances are those of one tick.
//
// No age is immortal: a few days of a table show ages at which nothing was lost, and policies that believe them wait
// too long (RB_MARKET_LEAST_PER_HOUR). Source: the method of stages for times that are not exponential (Cox, "A use of
// complex probabilities in the theory of stochastic processes", 1955).
#ifndef RB_SIMULATOR_MARKET_CHAIN_H
#define RB_SIMULATOR_MARKET_CHAIN_H

#include "profiles/store/spells.h"

#define RB_MARKET_AGES           8
#define RB_MARKET_STATES         (2 * RB_MARKET_AGES)
#define RB_MARKET_MEMORY         44 // instants for which it is known what a market was before
#define RB_MARKET_LEAST_PER_HOUR 0.04 // of losses, and of ends of a spell without nodes: .002 in three minutes

// What is known of a market: how it was when it was last seen.
struct rb_market_state {
    bool up;           // it would have granted a node
    double age_s;      // since when, then
    double seen_ago_s; // 0: it is seen now; INFINITY: it was never seen
};

struct rb_market_chain {
    double tick_s;
    double leave[2][RB_MARKET_AGES]; // [up]: chance that a spell ends, by its age
    double ripen[2][RB_MARKET_AGES]; // that it goes on and reaches the next age; 0 at the last
    double life_s[RB_MARKET_AGES];   // mean time until a node of this age is lost
    float later[RB_MARKET_MEMORY][2][RB_MARKET_AGES]; // [..][up][age]: chance that a market like that is up later
};

struct rb_market_chain rb_market_chain_of(const struct rb_spells *spells, double tick_s);
int rb_market_age(double age_s); // 0 .. RB_MARKET_AGES - 1
// Chance that it would grant a node now. Seen now: 1 or 0.
double rb_market_chain_chance(const struct rb_market_chain *c, const struct rb_market_state *state);

#endif
