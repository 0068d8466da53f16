// What plans of one scenario share, whatever is asked of them: laws of trials and simulated runs depend on no constraint.
#ifndef RB_PLANNER_SHARING_H
#define RB_PLANNER_SHARING_H

#include "planner/search/planner.h"

struct rb_sharing {
    struct rb_trial_laws *laws; // made for it; NULL: the request brought its own
    struct rb_run_store *runs;    // likewise
};

// Fills in req->laws and req->runs where they are NULL. Requests that are copied from it share them; one for another profile
// may use neither, one for other jobs or prices no runs.
void rb_sharing_begin(struct rb_sharing *sharing, struct rb_plan_request *req);
void rb_sharing_end(struct rb_sharing *sharing); // {NULL} is fine

#endif
