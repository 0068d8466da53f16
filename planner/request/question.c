#include "planner/request/question.h"

#include "planner/search/search.h"

bool rb_question_init(struct rb_question *q, const struct rb_plan_request *req, struct rb_arena *arena,
                      struct rb_err *err)
{
    struct rb_offer *offers;
    const char *dropped;
    int n_offers;
    if (!rb_planner_offers_and_dropped(req->job, req->catalog, arena, &offers, &n_offers, &dropped, err) ||
        !rb_scenario_init(&q->scenario, req->job, req->profile, offers, n_offers, req->catalog, req->seed, err))
        return false;
    q->req = *req;
    q->owns_laws = !req->laws;
    if (q->owns_laws)
        q->req.laws = rb_trial_laws_create();
    rb_planner_size(&q->req, &q->scenario);
    q->req.offers_dropped = dropped;
    // Otherwise there are very many trials, and their noise takes the most memory of all.
    if (q->req.samples == req->samples)
        rb_search_keep_draws(&q->scenario, &q->req);
    rb_time_share_begin(&q->phase, req, 1, &q->req);
    rb_windows_init(&q->windows, &q->scenario);
    return true;
}

void rb_question_finish(struct rb_question *q)
{
    if (q->owns_laws)
        rb_trial_laws_destroy(q->req.laws);
    rb_windows_finish(&q->windows);
    rb_scenario_finish(&q->scenario);
}

bool rb_question_is_free(const struct rb_question *q)
{
    const struct rb_job *job = q->scenario.job;
    for (int i = 0; i < q->scenario.n_offers; i++)
        if (q->scenario.offers[i].rate.uusd_per_hour > 0)
            return false;
    return job->resources.disk_bytes == 0 && job->data_uusd_per_gb == 0;
}
