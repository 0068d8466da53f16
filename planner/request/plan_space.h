// The space of plans that one search looks through, kept for its next question: choices, their bounds and their sampled times
// depend on neither deadline nor budget, and transforms of their laws serve all deadlines of about one size (planner/questions/pareto.h
// asks for many).
#ifndef RB_PLANNER_PLAN_SPACE_H
#define RB_PLANNER_PLAN_SPACE_H

#include "planner/proof/lattice.h"
#include "planner/request/options.h"

struct rb_plan_space *rb_plan_space_create(void);        // empty
void rb_plan_space_destroy(struct rb_plan_space *space); // NULL is fine

// The lattice for the confidence of the search's request, with every bound that earlier questions have raised; made where there
// is none, or where it is lent already. It is the caller's until it is given back, and freed then if the search is not asked
// again (search->asked_again).
bool rb_plan_space_take_lattice(struct rb_search *search, double accuracy, struct rb_lattice *out, struct rb_err *err);
void rb_plan_space_give_lattice(struct rb_search *search, struct rb_lattice *lattice);

// The same of the tables of sampled choices.
bool rb_plan_space_take_options(struct rb_search *search, struct rb_options *out, struct rb_err *err);
void rb_plan_space_give_options(struct rb_search *search, struct rb_options *options);

// Frequencies for a deadline: of a window made for another one that is up to twice as late, else of a window of its own.
// Borrowed until the next request.
struct rb_on_time *rb_plan_space_on_time(struct rb_plan_space *space, double deadline_s, double deviation_s);
size_t rb_plan_space_bytes(const struct rb_plan_space *space); // of all transforms

#endif
