#include "executor/report/report_importance.h"

#include "engine/core/tuner.h"
#include "executor/launcher/trial_env.h"
#include "samplers/importance.h"
#include "samplers/search.h"

#include <math.h>
#include <string.h>

struct taking {
    const struct rb_report *r;
    struct rb_search *search;
    int n_events;
};

static bool take_event(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct taking *t = ctx;
    (void)err;
    if (t->n_events++ < t->r->n_events && e->kind == RB_EVENT_REPORT)
        rb_search_reported(t->search, e->trial, e->resource, rb_score(t->r->plan->job->goal, e->metric), NAN);
    return true;
}

static void take_trials(struct taking *t, struct rb_arena *arena)
{
    const struct rb_job *job = t->r->plan->job;
    for (int i = 0; i < t->r->n_trials; i++)
        rb_search_began(t->search, i, rb_trial_values(job, i, t->r->trials[i].suggested, arena), 0);
}

// A trial that failed for good is worst at the end of its last start.
static void take_failures(struct taking *t)
{
    for (int i = 0; i < t->r->n_tasks; i++) // in order of starts
        rb_search_changed(t->search, t->r->tasks[i].trial, RB_SEEN_TRAINS, t->r->tasks[i].resource_end);
    for (int i = 0; i < t->r->n_trials; i++)
        if (strcmp(t->r->trials[i].state, rb_trial_state_name(RB_TRIAL_FAILED)) == 0)
            rb_search_changed(t->search, i, RB_SEEN_FAILED, 0);
}

static void write(const struct rb_search *s, const struct rb_importance *im, struct rb_json *j)
{
    static const char *const states[] = {
        [RB_IMPORTANCE_KNOWN] = "known", [RB_IMPORTANCE_FEW] = "few", [RB_IMPORTANCE_UNSEEN] = "unseen"};
    const struct rb_coordinates *c = rb_search_coordinates(s);
    const int64_t resource = im->level < 0 ? -1 : rb_search_history(s)->levels[im->level];
    rb_json_put(j, "{state: %s resource: %jd|null n_results: %d least: %d r2: %g|null parameters: [",
                states[im->state], resource, im->n_results, im->least, im->r2);
    for (int i = 0; im->share && i < c->n; i++)
        rb_json_put(j, "{name: %s share: %g sd: %g}", c->space->params[c->items[i].param].name, im->share[i], im->sd[i]);
    rb_json_end_array(j);
    rb_json_put(j, "together: %g|null together_sd: %g|null}", im->share ? im->together : NAN,
                im->share ? im->together_sd : NAN);
}

bool rb_report_importance_write(struct rb_journal *j, const struct rb_report *report, struct rb_json *out,
                                struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_job job = *report->plan->job;
    struct taking t = {.r = report};
    struct rb_importance im;
    job.scheduler.sampler = (struct rb_sampler_spec){0}; // nothing is proposed: any sampler will do
    if (!rb_search_create(&job, &t.search, err))
        return false;
    take_trials(&t, &arena);
    const bool ok = rb_journal_each_event(j, take_event, &t, err);
    if (ok) {
        take_failures(&t);
        rb_importance_of(rb_search_coordinates(t.search), rb_search_history(t.search), job.seed, &arena, &im);
        write(t.search, &im, out);
    }
    rb_search_destroy(t.search);
    return ok;
}
