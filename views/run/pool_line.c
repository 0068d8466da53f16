#include "views/run/pool_line.h"

#include "views/live/pool_progress.h"
#include "views/run/terminal_run.h"

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

// One job after the other: the line of a hundred jobs costs no more than that of one.
static void work_at_one(struct rb_pool_line *l)
{
    const struct rb_pool_run *p = l->pool;
    for (int i = 0; i < p->n; i++) {
        l->foreseen = (l->foreseen + 1) % p->n;
        if (!is_at_work(&p->members[l->foreseen]))
            continue;
        rb_session_foresee(p->members[l->foreseen].session);
        return;
    }
}

static void write_line(void *ctx, int width, struct rb_buf *out)
{
    struct rb_pool_line *l = ctx;
    work_at_one(l);
    const struct rb_pool_progress now = look(l->pool);
    rb_pool_progress_write(&now, width, out);
}

static void begin_line(void *ctx, struct rb_loop_uv *uv)
{
    struct rb_pool_line *l = ctx;
    rb_run_line_begin(&l->line, uv);
}

static void wipe_line(void *ctx)
{
    struct rb_pool_line *l = ctx;
    rb_run_line_wipe(&l->line);
}

void rb_pool_line_init(struct rb_pool_line *l, struct rb_pool_run *pool, bool json)
{
    const bool has_line = !json && rb_run_line_has_room();
    *l = (struct rb_pool_line){
        .pool = pool,
        .line = {.write = write_line, .ctx = l},
        .show = {.begin = has_line ? begin_line : NULL,
                 .wipe = wipe_line,
                 .event = has_line ? NULL : rb_terminal_run_event,
                 .ctx = l},
    };
    pool->show = &l->show;
}
