// State that plans of one scenario share: laws of trials and simulated runs do not depend on constraints.
#ifndef RB_PLANNER_SHARING_H
#define RB_PLANNER_SHARING_H

#include "planner/search/planner.h"

struct rb_sharing {
    struct rb_trial_laws *laws; // made for it; NULL: the request brought its own
    struct rb_run_store *runs;    // likewise
};

// Fills in req->laws and req->runs if they are NULL. Requests copied from it share them. A request for another profile
// may use neither; one for other jobs or prices may not use the runs.
void rb_sharing_begin(struct rb_sharing *sharing, struct rb_plan_request *req);
void rb_sharing_end(struct rb_sharing *sharing); // {NULL} is allowed

#endif
