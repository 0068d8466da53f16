#include "views/live/pool_progress.h"

#include "base/text/units.h"
#include "views/live/status_line.h"

struct rb_pool_progress rb_pool_progress_of_owner(const struct rb_progress *owner, const struct rb_plan *plan,
                                                  int n_jobs)
{
    return (struct rb_pool_progress){
        .over = owner->over,
        .jobs = n_jobs,
        .nodes = owner->nodes,
        .nodes_ready = owner->nodes_ready,
        .is_free = plan->offers[0].rate.uusd_per_hour == 0,
        .spent_uusd = owner->spent_uusd,
        .budget_uusd = owner->budget_uusd,
        .elapsed_us = owner->elapsed_us,
        .end_us = owner->elapsed_us,
    };
}

// The job's times begin with its arrival.
static void await(struct rb_pool_progress *p, const struct rb_progress *job)
{
    const int64_t end_us = p->elapsed_us + job->end_p50_us - job->elapsed_us;
    if (job->why_unknown)
        p->why_unknown = job->why_unknown;
    else if (end_us > p->end_us)
        p->end_us = end_us;
}

void rb_pool_progress_add(struct rb_pool_progress *p, const struct rb_progress *job, int gpus)
{
    if (job->over) {
        p->n_over++;
        return;
    }
    (*(gpus > 0 ? &p->n_training : &p->n_waiting))++;
    await(p, job);
}

void rb_pool_progress_settle(struct rb_pool_progress *p)
{
    if (p->n_to_come > 0 || p->n_waiting > 0)
        p->why_unknown = p->n_to_come > 0 ? "jobs are to come" : "jobs wait for GPUs";
    if (p->why_unknown)
        p->end_us = -1;
}

static void count(int n, const char *what, struct rb_buf *out)
{
    if (n > 0)
        rb_buf_printf(out, "%s%d %s", out->len ? ", " : "", n, what);
}

static void jobs_parts(const struct rb_pool_progress *p, struct rb_status_line *l)
{
    rb_buf_printf(rb_status_line_add(l, RB_STATUS_ALWAYS, false), "%d/%d jobs", p->n_over, p->jobs);
    if (p->n_over == p->jobs)
        return;
    struct rb_buf *text = rb_status_line_add(l, 7, false);
    count(p->n_training, "training", text);
    count(p->n_waiting, "waiting", text);
    count(p->n_to_come, "to come", text);
    count(p->n_not_begun, "not begun", text);
}

static void cost_parts(const struct rb_pool_progress *p, struct rb_status_line *l)
{
    char text[32];
    rb_buf_puts(rb_status_line_add(l, 8, false), p->is_free ? "free" : rb_format_money(p->spent_uusd, text));
    if (p->budget_uusd >= 0)
        rb_buf_printf(rb_status_line_add(l, 2, true), "(max %s)", rb_format_money(p->budget_uusd, text));
}

static void time_parts(const struct rb_pool_progress *p, struct rb_status_line *l)
{
    char text[32];
    const int64_t left_us = p->end_us - p->elapsed_us;
    rb_buf_printf(rb_status_line_add(l, 9, false), "ETA %s",
                  rb_progress_duration(p->end_us < 0 ? -1
                                       : left_us > 0 ? left_us
                                                     : 0,
                                       text));
    if (p->end_us < 0 && p->why_unknown)
        rb_buf_printf(rb_status_line_add(l, 1, true), "(%s)", p->why_unknown);
}

void rb_pool_progress_write(const struct rb_pool_progress *p, int width, struct rb_buf *out)
{
    RB_AUTO(rb_status_line_finish) struct rb_status_line l = {.n = 0};
    jobs_parts(p, &l);
    rb_buf_printf(rb_status_line_add(&l, 4, false), "%d/%d nodes", p->nodes_ready, p->nodes);
    cost_parts(p, &l);
    if (!p->over)
        time_parts(p, &l);
    rb_status_line_write(&l, width, out);
}
