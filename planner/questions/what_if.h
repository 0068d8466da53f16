// What-if: plans the same request with a few inputs changed, in one run. Laws of trials that no change affects are
// shared, and so are simulated runs if only constraints change. Every scenario starts from the base's plan.
#ifndef RB_PLANNER_WHAT_IF_H
#define RB_PLANNER_WHAT_IF_H

#include "planner/search/planner.h"

struct rb_what_if_change {
    const char *key, *value; // as given: "price", "-20%"
};

// One scenario: changes that apply together.
struct rb_what_if {
    const char *text;                        // as given: "price=-20%,deadline=3h"
    const struct rb_what_if_change *changes; // in the order given, [n_changes]
    int n_changes;
};

// The result of the base or of a scenario. Infeasible: `estimate` is that of the plan nearest to feasible.
struct rb_what_if_row {
    bool feasible;
    struct rb_estimate estimate;
    struct rb_plan_result result; // candidate, bound, nearest constraints, whether the search was cut
    const char *const *warnings;  // of the plan, [n_warnings]; of a scenario only those that the base's plan lacks
    int n_warnings;
};

struct rb_what_if_table {
    struct rb_what_if_row base;
    const struct rb_what_if *scenarios; // [n]
    const struct rb_what_if_row *rows;  // [n]
    int n;
};

// "K=V[,K=V]" -> changes, in `arena`. Keys: price, price.TYPE, provisioning, training, deadline, budget, confidence, spot,
// num_trials, eta, max_resource, sizes, max_nodes; each at most once. Errors name the key and list the known ones.
bool rb_what_if_parse(const char *text, struct rb_arena *arena, struct rb_what_if *out, struct rb_err *err);

// The base request with the scenario's inputs. The job is written, changed and read again, so that it passes the same
// checks as job.yaml. Prices are a copy of the catalogue and times a copy of the profile. *out and everything it points
// to live in `arena`.
bool rb_what_if_request(const struct rb_plan_request *base, const struct rb_what_if *scenario, struct rb_arena *arena,
                        struct rb_plan_request *out, struct rb_err *err);

// Plans the base and the scenarios. All scenarios are checked before the first is planned. base->laws NULL: made for
// this run.
// A scenario without a feasible plan is a row; an input that cannot be planned at all is an error that names the
// scenario.
bool rb_what_if_plan(const struct rb_plan_request *base, const char *planner, const char *const *texts, int n,
                     struct rb_arena *arena, struct rb_what_if_table *out, struct rb_err *err);

void rb_what_if_write(const struct rb_what_if_table *table, struct rb_json *j); // rb-what-if/1

#endif
