// What the line of a pool says: its jobs, its nodes, its bill, and when the last of its jobs will probably end.
#include "commands/rbrun_pool_run.h"

// To the last trial: what its run still has to tidy up needs no GPU.
static bool is_over(const struct rb_pool_member *m)
{
    return m->over ||
           rb_engine_outcome(rb_controller_engine(rb_session_controller(m->session)), NULL) != RB_JOB_RUNNING;
}

// Whoever is over or never begins has an end already; of all the others it has to be known.
static void foresee(const struct rb_pool_run *p, struct rb_pool_progress *out)
{
    int64_t end_us = out->elapsed_us;
    out->end_us = -1;
    out->why_unknown = out->n_to_come > 0 ? "jobs are to come" : out->n_waiting > 0 ? "jobs wait for GPUs" : NULL;
    for (int i = 0; i < p->n && !out->why_unknown; i++) {
        struct rb_progress job;
        if (!p->members[i].session || is_over(&p->members[i]))
            continue;
        rb_session_progress(p->members[i].session, &job);
        out->why_unknown = job.why_unknown;
        const int64_t job_end_us =
            out->elapsed_us + job.end_p50_us - job.elapsed_us; // its times begin with its arrival
        end_us = job_end_us > end_us ? job_end_us : end_us;
    }
    if (!out->why_unknown)
        out->end_us = end_us;
}

static void count_jobs(const struct rb_pool_run *p, struct rb_pool_progress *out)
{
    for (int i = 0; i < p->n; i++) {
        const struct rb_pool_member *m = &p->members[i];
        if (!m->session)
            (*(m->timer ? &out->n_to_come : &out->n_not_begun))++;
        else if (is_over(m))
            out->n_over++;
        else if (rb_lent_gpus(rb_controller_engine(rb_session_controller(m->session))) > 0)
            out->n_training++;
        else
            out->n_waiting++;
    }
}

void rb_pool_progress_look(struct rb_pool_run *p, struct rb_pool_progress *out)
{
    struct rb_progress owner;
    rb_session_progress(p->session, &owner);
    *out = (struct rb_pool_progress){
        .over = p->ending || p->owner_over || p->interrupts > 0,
        .jobs = p->n,
        .nodes = owner.nodes,
        .nodes_ready = owner.nodes_ready,
        .is_free = p->files.plan.offers[0].rate.uusd_per_hour == 0,
        .spent_uusd = owner.spent_uusd,
        .budget_uusd = owner.budget_uusd,
        .elapsed_us = owner.elapsed_us,
    };
    count_jobs(p, out);
    foresee(p, out);
}

// One job after the other: with a hundred of them the line costs no more than with one.
static void work_at_one(struct rb_pool_run *p)
{
    for (int i = 0; i < p->n; i++) {
        p->foreseen = (p->foreseen + 1) % p->n;
        struct rb_pool_member *m = &p->members[p->foreseen];
        if (!m->session || is_over(m))
            continue;
        rb_session_foresee(m->session);
        return;
    }
}

void rb_pool_progress_line(void *pool, int width, struct rb_buf *out)
{
    struct rb_pool_progress now;
    work_at_one(pool);
    rb_pool_progress_look(pool, &now);
    rb_pool_progress_write(&now, width, out);
}
