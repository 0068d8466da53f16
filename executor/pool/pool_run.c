// A pool from its first node to its end. All its runs share one loop; the owner's nodes are released when the last job
// is over.
#include "executor/pool/pool_run.h"

#include "base/errors/log.h"
#include "executor/away/detach.h"
#include "executor/report/report.h"
#include "executor/sinks/live.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the run that owns the nodes

static void check_end(struct rb_pool_run *p);
static void cancel_arrivals(struct rb_pool_run *p);

static void owner_observed(void *ctx, const struct rb_event *event)
{
    rb_arbiter_observe(((struct rb_pool_run *)ctx)->arbiter, event);
}

static void owner_finished(void *ctx)
{
    struct rb_pool_run *p = ctx;
    p->owner_over = true;
    cancel_arrivals(p); // no job can arrive now
    for (int i = 0; i < p->n; i++) {
        if (p->members[i].session && !p->members[i].over)
            rb_controller_stop(rb_session_controller(p->members[i].session), RB_STOP_CAPACITY);
    }
    check_end(p);
}

static bool begin_owner(struct rb_pool_run *p, struct rb_err *err)
{
    const struct rb_session_host host = {
        .uv = p->uv, .label = "pool: ", .observe = owner_observed, .finished = owner_finished, .ctx = p};
    if (!rb_session_begin(&p->files, p->journal, &p->options, p->show, &host, &p->session, err))
        return false;
    p->transport = rb_session_transport(p->session);
    if (!p->transport)
        return rb_err_set(err, RB_E_NOT_SUPPORTED,
                          "not supported yet: a pool with nodes of k8s, local or slurm beside those of clouds; give each a "
                          "pool of its own");
    rb_lender_own(p->lender, rb_session_controller(p->session));
    rb_arbiter_own(p->arbiter, rb_session_controller(p->session));
    return true;
}

// ---- the jobs

static void find_machine(void *ctx, struct rb_launch_node *node)
{
    const struct rb_pool_member *m = ctx;
    rb_lender_find_machine(&m->lent, node);
}

struct lost {
    const struct rb_pool_member *m;
    int node, owners; // the member's number of it, and the owner's; -1: not found
};

static void match_lost(void *ctx, const struct rb_launch_row *row)
{
    struct lost *l = ctx;
    if (row->node == l->node)
        l->owners = rb_lender_node(&l->m->lent, row->instance_id);
}

// The job that trains on a machine notices when it is dead but not gone: the owner trains nothing.
static void report_to_owner(const struct rb_pool_member *m, int node)
{
    struct lost l = {.m = m, .node = node, .owners = -1};
    rb_controller_each_open_launch(rb_session_controller(m->session), match_lost, &l);
    if (l.owners >= 0)
        rb_controller_give_up_node(rb_session_controller(m->pool->session), l.owners);
}

static void member_observed(void *ctx, const struct rb_event *event)
{
    struct rb_pool_member *m = ctx;
    if (event->kind == RB_EVENT_NODE_LOST && m->session && !m->pool->owner_over)
        report_to_owner(m, event->node);
    rb_arbiter_observe(m->pool->arbiter, event);
}

static void stop_all(struct rb_pool_run *p);

// The processes of a job without a journal continue, without a controller, on GPUs that would be lent to others: its
// nodes must end, and the others with them.
static void member_finished(void *ctx)
{
    struct rb_pool_member *m = ctx;
    struct rb_pool_run *p = m->pool;
    m->over = true;
    rb_arbiter_leave(p->arbiter, m->number);
    if (rb_controller_lost_journal(rb_session_controller(m->session)) && !p->ending) {
        rb_run_show_wipe(p->show);
        rb_warn("%sits journal takes no more writes: every job is ended, and the pool's instances", m->label);
        stop_all(p);
    } else {
        check_end(p);
    }
}

static bool begin_session(struct rb_pool_member *m, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_launch_row *rows;
    int n;
    if (!rb_journal_launches(m->journal, &arena, &rows, &n, err))
        return false;
    rb_lender_open(m->pool->lender, rows, n, &m->lent);
    snprintf(m->label, sizeof m->label, "%s: ", m->files.plan.job->name);
    const struct rb_session_host host = {
        .uv = m->pool->uv,
        .label = m->label,
        .resume_as = m->pool->files.run_id,
        .lender = m->lent,
        .transport = m->pool->transport,
        .find_machine = find_machine,
        .observe = member_observed,
        .finished = member_finished,
        .ctx = m,
    };
    if (!rb_session_begin(&m->files, m->journal, &m->pool->options, m->pool->show, &host, &m->session, err))
        return false;
    m->sinks = rb_sinks_live_begin(&m->files);
    return true;
}

static void join(struct rb_pool_member *m)
{
    struct rb_pool_run *p = m->pool;
    struct rb_lent_use had = {0};
    struct rb_controller *c = rb_session_controller(m->session);
    rb_lent_use(m->journal, &m->files.plan, &had, NULL); // nothing if the journal is fresh
    m->number = rb_arbiter_join(
        p->arbiter, &(struct rb_arbiter_job){
                        .controller = c,
                        .lent = &m->lent,
                        .plan = &m->files.plan,
                        .weight = m->spec->weight,
                        .deadline_us = m->files.plan.deadline_us >= 0 ? m->files.plan.deadline_us : INT64_MAX,
                        .age_us = rb_controller_now_us(c),
                        .had = had,
                    });
}

// One job that cannot begin does not end the others; the pool reports it at its end.
static void fail(struct rb_pool_run *p, const struct rb_pool_member *m, struct rb_err *err)
{
    rb_err_prefix(err, "%s could not begin; `rbrun resume %s` tries again", m->spec->path, p->files.run_id);
    rb_run_show_wipe(p->show);
    rb_warn("%s", err->message);
    if (!p->failure.code)
        p->failure = *err;
    check_end(p);
}

static void arrive(void *arg)
{
    struct rb_pool_member *m = arg;
    struct rb_err err;
    m->timer = 0;
    m->number = -1;
    // It is recorded before it trains: a resume would train an unrecorded job again.
    if (!rb_pool_open_member(m, &err) || !rb_pool_remember(m->pool, &err) || !begin_session(m, &err))
        fail(m->pool, m, &err);
    else
        join(m);
}

// ---- the end

static bool all_over(const struct rb_pool_run *p)
{
    for (int i = 0; i < p->n; i++) {
        const struct rb_pool_member *m = &p->members[i];
        if (m->session ? !m->over : m->timer != 0)
            return false;
    }
    return true;
}

static void check_end(struct rb_pool_run *p)
{
    if (!all_over(p))
        return;
    if (p->owner_over)
        rb_loop_uv_stop(p->uv);
    else if (!p->ending)
        rb_controller_stop(rb_session_controller(p->session), p->interrupts ? RB_STOP_USER : RB_STOP_RELEASED);
    p->ending = true;
}

static void cancel_arrivals(struct rb_pool_run *p)
{
    for (int i = 0; i < p->n; i++) {
        struct rb_pool_member *m = &p->members[i];
        if (m->timer)
            p->loop->timer_cancel(p->loop->ctx, m->timer);
        m->timer = 0;
    }
}

static void stop_all(struct rb_pool_run *p)
{
    cancel_arrivals(p);
    for (int i = 0; i < p->n; i++) {
        struct rb_pool_member *m = &p->members[i];
        if (m->session && !m->over)
            rb_controller_stop(rb_session_controller(m->session), RB_STOP_USER);
    }
    check_end(p);
}

// ---- all runs

static void interrupt(void *arg)
{
    struct rb_pool_run *p = arg;
    rb_run_show_wipe(p->show);
    if (p->interrupts++ == 0) {
        rb_warn("stopping: ending every job and the pool's instances (interrupt again to leave them as they are)");
        stop_all(p);
        return;
    }
    p->left = true;
    rb_warn("left before the end; end what is left with: rbrun stop %s; or continue with: rbrun resume %s",
            p->files.run_id, p->files.run_id);
    rb_loop_uv_stop(p->uv);
}

static bool begin(struct rb_pool_run *p, struct rb_err *err)
{
    const struct rb_sharing *policy = rb_sharing_find(p->file.policy);
    p->uv = rb_loop_uv_create();
    p->loop = rb_loop_uv_loop(p->uv);
    p->lender = rb_lender_create(p->loop);
    const struct rb_arbiter_config config = {
        .loop = p->loop,
        .policy = policy,
        .options = {.seed = p->file.seed,
                    .restart_us = p->file.restart_us,
                    .round_us = p->file.interval_us,
                    .fairness_p = p->file.fairness_p,
                    .avoid_interference = true},
    };
    return rb_arbiter_create(&config, &p->arbiter, err) && begin_owner(p, err);
}

// Jobs that had arrived before resume, whatever happened to them; the next listing shows what they still have.
static bool begin_again(struct rb_pool_run *p, struct rb_err *err)
{
    for (int i = 0; i < p->n; i++) {
        struct rb_pool_member *m = &p->members[i];
        if (!m->journal)
            continue;
        if (!begin_session(m, err))
            return false;
        join(m);
    }
    return true;
}

static void await_arrivals(struct rb_pool_run *p)
{
    const int64_t now_us = rb_controller_now_us(rb_session_controller(p->session));
    for (int i = 0; i < p->n; i++) {
        struct rb_pool_member *m = &p->members[i];
        const int64_t left_us = m->spec->arrives_us - now_us;
        if (!m->session)
            m->timer = p->loop->timer_start(p->loop->ctx, left_us > 0 ? left_us : 0, arrive, m);
    }
}

bool rb_pool_run_carry_out(struct rb_pool_run *p, struct rb_err *err)
{
    if (!begin(p, err) || !begin_again(p, err))
        return false;
    rb_loop_uv_on_interrupt(p->uv, interrupt, p);
    await_arrivals(p);
    if (p->options.detached)
        rb_detached_begun(p->files.dir);
    if (p->show && p->show->begin)
        p->show->begin(p->show->ctx, p->uv);
    rb_loop_uv_run(p->uv);
    rb_run_show_wipe(p->show);
    return true;
}

// ---- its report

static const char *outcome_of(const struct rb_pool_member *m, struct rb_arena *arena)
{
    char text[64];
    enum rb_stop_reason reason = RB_STOP_USER;
    if (!m->session)
        return m->pool->failure.code ? "could not begin" : "did not arrive";
    const struct rb_engine *e = rb_controller_engine(rb_session_controller(m->session));
    const enum rb_job_outcome outcome = rb_engine_outcome(e, &reason);
    const bool at_work = !rb_controller_lost_journal(rb_session_controller(m->session));
    return rb_arena_strdup(arena, rb_report_outcome(outcome, reason, at_work, text));
}

static struct rb_pool_report_job report_member(const struct rb_pool_member *m, struct rb_arena *arena)
{
    struct rb_pool_report_job r = {
        .job = m->spec->path, .arrived_us = -1, .jct_us = -1, .alone_us = -1, .best_trial = -1};
    r.outcome = outcome_of(m, arena);
    if (!m->session)
        return r;
    struct rb_controller *c = rb_session_controller(m->session);
    const struct rb_engine *e = rb_controller_engine(c);
    r.job = m->files.plan.job->name;
    r.run_id = m->files.run_id;
    r.arrived_us = m->spec->arrives_us;
    r.jct_us = m->over && !rb_controller_lost_journal(c) ? rb_engine_now_us(e) : -1;
    r.alone_us = m->files.plan.estimate.time_us.mean;
    r.metric_name = m->files.plan.job->metric_name;
    r.best_trial = rb_engine_best(e);
    if (r.best_trial >= 0)
        r.best_metric = rb_engine_trial(e, r.best_trial)->metric;
    rb_lent_use(m->journal, &m->files.plan, &r.use, NULL);
    return r;
}

bool rb_pool_run_report(struct rb_pool_run *p, struct rb_pool_report *out, struct rb_err *err)
{
    struct rb_pool_report_job *jobs = rb_arena_array(&p->arena, (size_t)p->n + 1, sizeof *jobs);
    struct rb_journal_meta meta;
    bool complete = true;
    int64_t reserved;
    if (!rb_journal_meta(p->journal, &p->arena, &meta, err))
        return false;
    *out = (struct rb_pool_report){.run_id = p->files.run_id,
                                   .policy = p->file.policy,
                                   .is_free = !rb_progress_has_price(&p->files.plan),
                                   .instances_left = meta.leak_checked_at_us >= 0 ? meta.instances_left : -1,
                                   .jobs = jobs,
                                   .n_jobs = p->n};
    for (int i = 0; i < p->n; i++) {
        jobs[i] = report_member(&p->members[i], &p->arena);
        complete = complete && (strcmp(jobs[i].outcome, "complete") == 0 || strcmp(jobs[i].outcome, "target") == 0);
    }
    out->outcome = complete ? "complete" : "not complete";
    out->time_us = rb_controller_now_us(rb_session_controller(p->session));
    rb_controller_spend(rb_session_controller(p->session), &out->cost_uusd, &reserved);
    return true;
}

// ---- its end

// The worst end of any of its runs is the pool's. Each job's error is printed. The returned one is that of the run that
// owns the nodes, if it has one: that run knows what is left of them.
bool rb_pool_run_end(struct rb_pool_run *p, int *out_code, struct rb_err *err)
{
    struct rb_err first = {0}, why;
    for (int i = 0; i < p->n; i++) {
        struct rb_pool_member *m = &p->members[i];
        int code = 0;
        if (m->session && !rb_session_close(m->session, &code, &why)) {
            rb_warn("%s%s", m->label, why.message);
            first = first.code ? first : why;
        }
        *out_code = code > *out_code ? code : *out_code;
        rb_sinks_live_end(m->sinks, p->left);
    }
    int code = 0;
    if (p->session && !rb_session_close(p->session, &code, &why))
        first = why;
    if (first.code)
        *err = first;
    return !first.code;
}

void rb_pool_run_finish(struct rb_pool_run *p)
{
    rb_arbiter_destroy(p->arbiter);
    rb_lender_destroy(p->lender);
    rb_loop_uv_destroy(p->uv);
    for (int i = 0; i < p->n; i++) {
        rb_journal_close(p->members[i].journal);
        rb_run_files_finish(&p->members[i].files);
    }
    free(p->members);
    rb_journal_close(p->journal);
    rb_run_files_finish(&p->files);
    rb_arena_finish(&p->arena);
}
