// How plans are scored. This is the only table of the differences between a search whose stage times can be sampled and
// one in which only runs of the engine show what a plan takes. Another way of scoring is one more table and one line in
// rb_scorer_of.
#ifndef RB_PLANNER_SCORER_H
#define RB_PLANNER_SCORER_H

#include "planner/scores/run_store.h"

struct rb_search;

#define RB_SCORER_CAVEATS 2 // upper limit

struct rb_scorer {
    const char *name;
    int samples;               // runs per estimate if the request names no number
    bool barriers;             // a stage begins when all trials of the one before have ended, and an interrupted trial
                               // begins it again
    bool slow;                 // a plan takes seconds: it is not searched for again just for a hint
    const char *whole;         // condition on a frontier's plans besides keeping its limits: "" or " that ..."
    enum rb_run_kind compared; // the kept runs for comparing plans
    double sigma_p;            // standard errors of P within which a screened candidate may still keep the constraints

    // Number of runs that an estimate can afford, at most io->samples. With a time limit it sets io->run_us. NULL: as
    // many as there is time to draw trials for.
    int (*affordable)(struct rb_plan_request *io, const struct rb_scenario *s);
    // As rb_search_keep_draws.
    void (*keep_draws)(struct rb_scenario *s, const struct rb_plan_request *req);

    // --- scores; errors as in search.h

    // Number of runs of the first look at a candidate, and of all runs used to compare plans.
    int (*n_screened)(const struct rb_search *search);
    int (*n_compared)(const struct rb_search *search);
    bool (*runs)(struct rb_search *search, const struct rb_candidate *candidate, int samples, const struct rb_runs **out,
                 struct rb_err *err);
    bool (*score)(struct rb_search *search, struct rb_candidate *candidate, int samples, struct rb_err *err);
    // Re-evaluates a plan found for other constraints under the current ones.
    bool (*score_again)(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err);
    bool (*decide)(struct rb_search *search, struct rb_candidate *candidate, bool *out_keeps, struct rb_err *err);
    bool (*estimate)(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                     struct rb_err *err);
    bool (*nearest_of)(struct rb_search *search, const struct rb_candidate *candidates, int n, struct rb_plan_result *out,
                       struct rb_err *err);

    // --- searches

    // The result of one planner.
    bool (*ask)(struct rb_search *search, const struct rb_planner *planner, struct rb_plan_result *out, struct rb_err *err);
    // The result of the planner `optimal`.
    bool (*optimal)(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err);
    // True if every planner finds the same plan. NULL: no.
    bool (*has_one_plan)(const struct rb_search *search);
    // Requests nodes earlier than the search did. NULL: there is no gain.
    bool (*improve)(struct rb_search *search, struct rb_plan_result *io, struct rb_err *err);
    // The saving from a little more time. NULL: unknown.
    bool (*marginal)(struct rb_search *search, struct rb_marginal *out, struct rb_err *err);
    // Caveats of a plan's figures, to out [RB_SCORER_CAVEATS], NULL if there is none; in `arena`. NULL: nothing.
    bool (*caveats)(struct rb_search *search, const struct rb_candidate *plan, struct rb_arena *arena, const char **out,
                    struct rb_err *err);
};

extern const struct rb_scorer rb_scorer_stages; // samples of stages (planner/scores/stages_scorer.c)
extern const struct rb_scorer rb_scorer_engine; // runs of the engine in the virtual world (planner/async/engine_scorer.c)

const struct rb_scorer *rb_scorer_of(const struct rb_job *job);

#endif
