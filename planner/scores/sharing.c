#include "planner/scores/sharing.h"

#include "planner/search/search.h"

#include "simulator/laws/trial_laws.h"

void rb_sharing_begin(struct rb_sharing *sharing, struct rb_plan_request *req)
{
    *sharing = (struct rb_sharing){NULL, NULL};
    if (!req->laws)
        sharing->laws = rb_trial_laws_create();
    if (!req->runs)
        sharing->runs = rb_run_store_create();
    req->laws = req->laws ? req->laws : sharing->laws;
    req->runs = req->runs ? req->runs : sharing->runs;
}

void rb_sharing_end(struct rb_sharing *sharing)
{
    rb_trial_laws_destroy(sharing->laws);
    rb_run_store_destroy(sharing->runs);
}
