// What the line of a pool says: its jobs, its nodes, its bill, and when the last of its jobs will probably end.
#include "executor/pool/pool_run.h"

static bool is_at_work(const struct rb_pool_member *m)
{
    return m->session &&
           rb_engine_outcome(rb_controller_engine(rb_session_controller(m->session)), NULL) == RB_JOB_RUNNING;
}

static void add(struct rb_pool_progress *p, const struct rb_pool_member *m)
{
    struct rb_progress job;
    if (!m->session) {
        (*(m->timer ? &p->n_to_come : &p->n_not_begun))++;
        return;
    }
    rb_session_progress(m->session, &job);
    rb_pool_progress_add(p, &job, rb_lent_gpus(rb_controller_engine(rb_session_controller(m->session))));
}

static struct rb_pool_progress look(const struct rb_pool_run *p)
{
    struct rb_progress owner;
    rb_session_progress(p->session, &owner);
    struct rb_pool_progress now = rb_pool_progress_of_owner(&owner, &p->files.plan, p->n);
    now.over = now.over || p->ending || p->interrupts > 0;
    for (int i = 0; i < p->n; i++)
        add(&now, &p->members[i]);
    rb_pool_progress_settle(&now);
    return now;
}

// One job after the other: with a hundred of them the line costs no more than with one.
static void work_at_one(struct rb_pool_run *p)
{
    for (int i = 0; i < p->n; i++) {
        p->foreseen = (p->foreseen + 1) % p->n;
        if (!is_at_work(&p->members[p->foreseen]))
            continue;
        rb_session_foresee(p->members[p->foreseen].session);
        return;
    }
}

void rb_pool_progress_line(void *pool, int width, struct rb_buf *out)
{
    work_at_one(pool);
    const struct rb_pool_progress now = look(pool);
    rb_pool_progress_write(&now, width, out);
}
