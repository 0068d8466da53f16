#include "views/run/pool_following.h"

#include "executor/pool/pool_run.h"

#include <stdlib.h>

// ---- the present state

static bool recall(struct rb_pool_following *p, const char ***out_run_ids, struct rb_err *err)
{
    struct rb_input_sources sources;
    rb_arena_finish(&p->arena);
    rb_arena_init(&p->arena);
    return rb_pool_recall(p->owner.files.dir, &p->arena, &p->file, &sources, out_run_ids, err);
}

static bool take_in(struct rb_pool_following *p, int job, const char *run_id, struct rb_err *err)
{
    struct rb_pool_following_job *j = &p->jobs[job];
    if (j->has_begun || run_id[0] == '\0')
        return true;
    j->has_begun = rb_following_open(&j->following, p->state_dir, run_id, err);
    if (!j->has_begun)
        rb_following_finish(&j->following);
    return j->has_begun;
}

bool rb_pool_following_take_in(struct rb_pool_following *p, int job, struct rb_err *err)
{
    const char **run_ids;
    if (!recall(p, &run_ids, err) || !take_in(p, job, run_ids[job], err))
        return false;
    return p->jobs[job].has_begun || rb_err_set(err, RB_E_RUN_UNKNOWN, "this job of the pool has not begun");
}

// ---- progress

static struct rb_pool_progress add_up(const struct rb_pool_following *p)
{
    struct rb_pool_progress sum = rb_pool_progress_of_owner(&p->owner.screen.progress, &p->owner.files.plan, p->n);
    sum.over = sum.over || p->ended;
    for (int i = 0; i < p->n; i++) {
        const struct rb_run_screen *job = &p->jobs[i].following.screen;
        if (p->jobs[i].has_begun)
            rb_pool_progress_add(&sum, &job->progress, rb_lent_gpus(job->engine));
        else
            (*(sum.over ? &sum.n_not_begun : &sum.n_to_come))++;
    }
    rb_pool_progress_settle(&sum);
    return sum;
}

// If all of a pool's jobs have ended, it has nothing left to do. NULL: it has, or may be resumed.
static const char *settled_state(const struct rb_pool_following *p)
{
    const char *state = "complete";
    for (int i = 0; i < p->n; i++) {
        const struct rb_engine *e = p->jobs[i].has_begun ? p->jobs[i].following.screen.engine : NULL;
        const enum rb_job_outcome outcome = e ? rb_engine_outcome(e, NULL) : RB_JOB_RUNNING;
        if (!rb_job_is_final(outcome))
            return NULL;
        if (outcome == RB_JOB_INCOMPLETE)
            state = "not complete";
    }
    return p->progress.over ? state : NULL;
}

static struct rb_run_screen_job tell_job(const struct rb_pool_following *p, const struct rb_pool_report *r, int i)
{
    const struct rb_pool_report_job *reported = &r->jobs[i];
    const struct rb_run_screen *screen = p->jobs[i].has_begun ? &p->jobs[i].following.screen : NULL;
    return (struct rb_run_screen_job){
        .job = reported->job,
        .run_id = reported->run_id,
        .state = reported->outcome,
        .arrives_us = p->file.jobs[i].arrives_us,
        .progress = screen ? &screen->progress : NULL,
        .gpus = screen && !screen->progress.over ? rb_lent_gpus(screen->engine) : 0,
        .spent_uusd = rb_pool_report_share_uusd(r, reported),
        .deadline_us = screen ? screen->progress.deadline_us : p->file.jobs[i].deadline_us,
    };
}

static void update_progress(struct rb_pool_following *p)
{
    const struct rb_pool_report r = rb_pool_following_report(p);
    struct rb_run_screen_job *jobs = rb_arena_array(&p->arena, (size_t)p->n, sizeof *jobs);
    for (int i = 0; i < p->n; i++)
        jobs[i] = tell_job(p, &r, i);
    p->owner.screen.pool = &p->progress;
    p->owner.screen.jobs = jobs;
    p->owner.screen.n_jobs = p->n;
    if (settled_state(p)) {
        p->owner.screen.state = settled_state(p);
        p->owner.screen.hint = NULL;
    }
}

static bool look_at_jobs(void *ctx, bool settle, struct rb_err *err)
{
    struct rb_pool_following *p = ctx;
    const char **run_ids;
    if (!recall(p, &run_ids, err))
        return false;
    for (int i = 0; i < p->n; i++) {
        struct rb_pool_following_job *j = &p->jobs[i];
        if (!take_in(p, i, run_ids[i], err) || (j->has_begun && !rb_following_look(&j->following, settle, err)))
            return false;
        p->owner.news += j->following.news;
    }
    p->progress = add_up(p);
    update_progress(p);
    return true;
}

bool rb_pool_following_look(struct rb_pool_following *p, bool settle, struct rb_err *err)
{
    return rb_following_look(&p->owner, settle, err);
}

// ---- its report so far

static struct rb_pool_report_job report_job(struct rb_pool_following *p, int i)
{
    struct rb_following *f = &p->jobs[i].following;
    struct rb_pool_report_job r = {.job = p->file.jobs[i].path,
                                   .outcome = p->progress.over ? "did not arrive" : "to come",
                                   .arrived_us = -1,
                                   .jct_us = -1,
                                   .alone_us = -1,
                                   .best_trial = -1};
    if (!p->jobs[i].has_begun)
        return r;
    const struct rb_progress *progress = &f->screen.progress;
    r.job = f->files.plan.job->name;
    r.run_id = f->files.run_id;
    r.outcome = f->screen.state;
    r.arrived_us = p->file.jobs[i].arrives_us;
    r.jct_us = f->over_us;
    r.alone_us = f->files.plan.estimate.time_us.mean;
    r.metric_name = progress->metric_name;
    r.best_trial = progress->best_trial;
    r.best_metric = progress->best_metric;
    rb_lent_use(f->journal, &f->files.plan, &r.use, NULL);
    return r;
}

struct rb_pool_report rb_pool_following_report(struct rb_pool_following *p)
{
    struct rb_pool_report_job *jobs = rb_arena_array(&p->arena, (size_t)p->n + 1, sizeof *jobs);
    for (int i = 0; i < p->n; i++)
        jobs[i] = report_job(p, i);
    return (struct rb_pool_report){.run_id = p->owner.files.run_id,
                                   .policy = p->file.policy,
                                   .outcome = p->owner.screen.state,
                                   .time_us = p->owner.screen.progress.elapsed_us,
                                   .cost_uusd = p->owner.screen.progress.spent_uusd,
                                   .is_free = !rb_progress_has_price(&p->owner.files.plan),
                                   .instances_left = -1,
                                   .jobs = jobs,
                                   .n_jobs = p->n};
}

// ---- life

bool rb_pool_following_open(struct rb_pool_following *p, const char *state_dir, const char *run, struct rb_err *err)
{
    const char **run_ids;
    *p = (struct rb_pool_following){.state_dir = state_dir};
    rb_arena_init(&p->arena);
    if (!rb_following_open(&p->owner, state_dir, run, err))
        return false;
    if (!rb_pool_is_one(p->owner.files.dir))
        return true;
    if (!recall(p, &run_ids, err))
        return false;
    p->n = p->file.n_jobs;
    p->jobs = rb_xcalloc((size_t)p->n + 1, sizeof *p->jobs);
    p->owner.look_on = look_at_jobs;
    p->owner.look_on_ctx = p;
    return true;
}

void rb_pool_following_finish(struct rb_pool_following *p)
{
    for (int i = 0; i < p->n; i++) {
        if (p->jobs[i].has_begun)
            rb_following_finish(&p->jobs[i].following);
    }
    rb_following_finish(&p->owner);
    rb_arena_finish(&p->arena);
    free(p->jobs);
}
