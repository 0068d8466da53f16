// What the events of a run say about its search: which trials began with which values, what they reported, and how they
// stand. One reading for our own samplers and for programs that propose configurations.
#ifndef RB_SAMPLERS_FACTS_H
#define RB_SAMPLERS_FACTS_H

#include "engine/core/engine.h"
#include "samplers/history.h"

enum rb_fact_kind { RB_FACT_BEGAN, RB_FACT_REPORTED, RB_FACT_CHANGED };

struct rb_fact {
    enum rb_fact_kind kind;
    int trial;
    const struct rb_value *values; // BEGAN: the engine's, [space.n_params]
    int64_t next_resource;         // BEGAN, CHANGED to TRAINS: where it is compared next
    int64_t resource;              // REPORTED
    double metric, score;          // REPORTED
    enum rb_seen_state state;      // CHANGED
    bool is_over;                  // CHANGED: it trained to the end, or was stopped for good
    double seconds;                // REPORTED, CHANGED: that it has trained so far, start-up included
    double dollars;                // REPORTED, CHANGED: the price of its GPUs for that time, at the plan's rates
};

typedef void rb_fact_fn(void *ctx, const struct rb_fact *fact);

struct rb_facts; // what it remembers between events

struct rb_facts *rb_facts_create(const struct rb_plan *plan);
void rb_facts_destroy(struct rb_facts *f); // accepts NULL
// Calls fn for what the event changed. The engine has already taken the step, and given these orders.
void rb_facts_take(struct rb_facts *f, const struct rb_engine *e, const struct rb_event *event,
                   const struct rb_actions *actions, rb_fact_fn *fn, void *ctx);
double rb_facts_dollars(const struct rb_facts *f); // of all trials so far

#endif
