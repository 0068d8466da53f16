// How plans are scored: the one table that says what a search does where the times of stages can be sampled, and where only
// runs of the engine say what a plan takes. Another way of scoring is one more table and one line in rb_scorer_of.
#ifndef RB_PLANNER_SCORER_H
#define RB_PLANNER_SCORER_H

#include "planner/scores/run_store.h"

struct rb_search;

#define RB_SCORER_CAVEATS 2 // at most

struct rb_scorer {
    const char *name;
    int samples;               // runs behind an estimate where the request names no number
    bool barriers;             // a stage begins when all trials of the one before have ended, and a trial that is interrupted in
                               // it begins it again
    bool slow;                 // a plan takes seconds: it is not searched for again for the sake of a hint
    const char *whole;         // what plans of a frontier do besides keeping its limits: "" or " that ..."
    enum rb_run_kind compared; // the kept runs that plans are compared by
    double sigma_p;            // standard errors of P within which a screened candidate may yet keep the constraints

    // Runs that an estimate can afford, at most req->samples. NULL: as many as there is time to draw trials for.
    int (*affordable)(const struct rb_plan_request *req, const struct rb_scenario *s);
    // As rb_search_keep_draws.
    void (*keep_draws)(struct rb_scenario *s, const struct rb_plan_request *req);

    // --- scores; errors as in search.h

    // Runs of the first look at a candidate, and all that plans are compared by.
    int (*n_screened)(const struct rb_search *search);
    int (*n_compared)(const struct rb_search *search);
    bool (*runs)(struct rb_search *search, const struct rb_candidate *candidate, int samples, const struct rb_runs **out,
                 struct rb_err *err);
    bool (*score)(struct rb_search *search, struct rb_candidate *candidate, int samples, struct rb_err *err);
    // A plan found for other constraints, under those of now.
    bool (*score_again)(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err);
    bool (*decide)(struct rb_search *search, struct rb_candidate *candidate, bool *out_keeps, struct rb_err *err);
    bool (*estimate)(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                     struct rb_err *err);
    bool (*nearest_of)(struct rb_search *search, const struct rb_candidate *candidates, int n, struct rb_plan_result *out,
                       struct rb_err *err);

    // --- searches

    // What a planner finds.
    bool (*ask)(struct rb_search *search, const struct rb_planner *planner, struct rb_plan_result *out, struct rb_err *err);
    // What the planner `optimal` finds.
    bool (*optimal)(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err);
    // Does every planner find the same plan? NULL: no.
    bool (*has_one_plan)(const struct rb_search *search);
    // Requests nodes earlier than the search has. NULL: nothing is gained by that.
    bool (*improve)(struct rb_search *search, struct rb_plan_result *io, struct rb_err *err);
    // What a little more time would save. NULL: not known.
    bool (*marginal)(struct rb_search *search, struct rb_marginal *out, struct rb_err *err);
    // What must be known of a plan's figures, into out [RB_SCORER_CAVEATS], NULL where there is none; in `arena`. NULL: nothing.
    bool (*caveats)(struct rb_search *search, const struct rb_candidate *plan, struct rb_arena *arena, const char **out,
                    struct rb_err *err);
};

extern const struct rb_scorer rb_scorer_stages; // samples of stages (planner/scores/stages_scorer.c)
extern const struct rb_scorer rb_scorer_engine; // runs of the engine in the virtual world (planner/async/engine_scorer.c)

const struct rb_scorer *rb_scorer_of(const struct rb_job *job);

#endif
