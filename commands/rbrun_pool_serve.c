// The pages of a pool: page 0 lists its jobs, page k is that of the k-th. All of it comes from what stands on disk: pool.json
// says which jobs have begun, journals say the rest.
#include "commands/rbrun_pool_serve.h"

#include "commands/rbrun_pool.h"
#include "commands/rbrun_pool_run.h"
#include "views/page.h"
#include "views/pool_progress.h"

#include <stdio.h>
#include <stdlib.h>

struct served_job {
    struct rb_following following;
    bool has_begun;
};

struct served_pool {
    const struct rb_args *args;
    struct rb_following owner;
    struct rb_arena arena; // of the last look: what pool.json says
    struct rb_pool_file file;
    struct served_job *jobs; // [n]
    int n;
};

// ---- what there is

static bool recall(struct served_pool *s, const char ***out_run_ids, struct rb_err *err)
{
    struct rb_pool_sources sources;
    rb_arena_finish(&s->arena);
    rb_arena_init(&s->arena);
    return rb_pool_recall(s->owner.files.dir, &s->arena, &s->file, &sources, out_run_ids, err);
}

static bool take_in(struct served_pool *s, int job, const char *run_id, struct rb_err *err)
{
    struct served_job *j = &s->jobs[job];
    if (j->has_begun || run_id[0] == '\0')
        return true;
    j->has_begun = rb_following_open(&j->following, s->args, run_id, err);
    if (!j->has_begun)
        rb_following_finish(&j->following);
    return j->has_begun;
}

static bool look(struct served_pool *s, struct rb_err *err)
{
    const char **run_ids;
    if (!recall(s, &run_ids, err) || !rb_following_look(&s->owner, false, err))
        return false;
    for (int i = 0; i < s->n; i++) {
        struct served_job *j = &s->jobs[i];
        if (!take_in(s, i, run_ids[i], err) || (j->has_begun && !rb_following_look(&j->following, false, err)))
            return false;
    }
    return true;
}

static struct rb_pool_progress progress(const struct served_pool *s, bool over)
{
    struct rb_pool_progress p = rb_pool_progress_of_owner(&s->owner.screen.progress, &s->owner.files.plan, s->n);
    p.over = p.over || over;
    for (int i = 0; i < s->n; i++) {
        const struct rb_run_screen *job = &s->jobs[i].following.screen;
        if (s->jobs[i].has_begun)
            rb_pool_progress_add(&p, &job->progress, rb_lent_gpus(job->engine));
        else
            (*(p.over ? &p.n_not_begun : &p.n_to_come))++;
    }
    rb_pool_progress_settle(&p);
    return p;
}

// ---- its report so far, rb-pool-report/1: the page's document

static struct rb_pool_report_job report_job(struct served_pool *s, int i, bool over)
{
    struct rb_following *f = &s->jobs[i].following;
    struct rb_pool_report_job r = {.job = s->file.jobs[i].path,
                                   .outcome = over ? "did not arrive" : "to come",
                                   .arrived_us = -1,
                                   .jct_us = -1,
                                   .alone_us = -1,
                                   .best_trial = -1};
    if (!s->jobs[i].has_begun)
        return r;
    const struct rb_progress *p = &f->screen.progress;
    r.job = f->files.plan.job->name;
    r.run_id = f->files.run_id;
    r.outcome = f->screen.state;
    r.arrived_us = s->file.jobs[i].arrives_us;
    r.jct_us = f->over_us;
    r.alone_us = f->files.plan.estimate.time_us.mean;
    r.metric_name = p->metric_name;
    r.best_trial = p->best_trial;
    r.best_metric = p->best_metric;
    rb_lent_use(f->journal, &f->files.plan, &r.use, NULL);
    return r;
}

static struct rb_pool_report report(struct served_pool *s, bool over)
{
    struct rb_pool_report_job *jobs = rb_arena_array(&s->arena, (size_t)s->n + 1, sizeof *jobs);
    for (int i = 0; i < s->n; i++)
        jobs[i] = report_job(s, i, over);
    return (struct rb_pool_report){.run_id = s->owner.files.run_id,
                                   .policy = s->file.policy,
                                   .outcome = s->owner.screen.state,
                                   .time_us = s->owner.screen.progress.elapsed_us,
                                   .cost_uusd = s->owner.screen.progress.spent_uusd,
                                   .instances_left = -1,
                                   .jobs = jobs,
                                   .n_jobs = s->n};
}

// ---- the page

static void row(struct rb_text_table *t, const struct rb_pool_report_job *job, const struct served_job *served)
{
    RB_AUTO(rb_buf_finish) struct rb_buf where = RB_BUF_INIT;
    char arrived[32], gpu_time[32];
    if (served->has_begun)
        rb_progress_write(&served->following.screen.progress, 0, &where);
    rb_text_table_cell(t, "%s", job->job);
    rb_text_table_cell(t, "%s", job->outcome);
    rb_text_table_cell(t, "%s", where.len ? rb_buf_str(&where) : "-");
    rb_text_table_cell(t, "%s", job->arrived_us >= 0 ? rb_format_duration(job->arrived_us, arrived) : "-");
    rb_text_table_cell(t, "%s", rb_format_duration((int64_t)(job->use.gpu_s * RB_US_PER_S), gpu_time));
}

static void jobs_section(struct rb_page *page, const struct served_pool *s, const struct rb_pool_report *r)
{
    static const struct rb_text_column columns[] = {{"job", false, 0},
                                                    {"state", false, 0},
                                                    {"where it stands", false, 0},
                                                    {"arrived", true, 0},
                                                    {"GPU time", true, 0}};
    RB_AUTO(rb_auto_free) const char **addresses = rb_xcalloc((size_t)s->n + 1, sizeof *addresses);
    RB_AUTO(rb_auto_free) char(*texts)[16] = rb_xcalloc((size_t)s->n + 1, sizeof *texts);
    struct rb_text_table t;
    rb_text_table_init(&t, columns, 5);
    for (int i = 0; i < s->n; i++) {
        snprintf(texts[i], sizeof texts[i], "%d/", i + 1);
        addresses[i] = s->jobs[i].has_begun ? texts[i] : NULL;
        row(&t, &r->jobs[i], &s->jobs[i]);
    }
    rb_page_section(page, "jobs", "Jobs", "Each leads to the page of its own run; times since the pool began.");
    rb_page_linked_table(page, "Jobs of the pool", &t, addresses);
    rb_text_table_finish(&t);
    rb_page_end_section(page);
}

static bool make_index(struct served_pool *s, bool over, struct rb_buf *out_page, struct rb_buf *out_data,
                       struct rb_err *err)
{
    RB_AUTO(rb_buf_finish)
    struct rb_buf text = RB_BUF_INIT,
                  title = RB_BUF_INIT, summary = RB_BUF_INIT, main = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc document = {0};
    struct rb_json j;
    struct rb_page page;
    const struct rb_pool_report r = report(s, over);
    const struct rb_pool_progress now = progress(s, over);
    rb_json_init(&j, &text, false);
    rb_pool_report_write(&r, &j);
    if (!rb_doc_parse_json(&document, "rb-pool-report", rb_buf_str(&text), text.len, err))
        return false;
    rb_pool_progress_write(&now, 0, &summary);
    rb_buf_printf(&title, "Pool %s", r.run_id);
    rb_page_begin(&page, rb_buf_str(&title), rb_buf_str(&summary), true, out_page);
    jobs_section(&page, s, &r);
    rb_page_end(&page, rb_buf_str(&text));
    jobs_section(&(struct rb_page){.out = &main}, s, &r);
    rb_page_live(rb_buf_str(&summary), rb_buf_str(&main), document.root, over, out_data);
    return true;
}

// A job that is over has ended, whatever the others do.
static bool make_job(struct served_job *j, bool over, struct rb_buf *page, struct rb_buf *data, struct rb_err *err)
{
    if (!j->has_begun)
        return rb_err_set(err, RB_E_RUN_UNKNOWN, "this job of the pool has not begun");
    return rb_run_serve_make(&j->following, over || j->following.over_us >= 0, page, data, err);
}

static bool make(void *ctx, int number, bool over, struct rb_buf *page, struct rb_buf *data, struct rb_err *err)
{
    struct served_pool *s = ctx;
    const char **run_ids;
    if (number == 0)
        return look(s, err) && make_index(s, over, page, data, err);
    return recall(s, &run_ids, err) && take_in(s, number - 1, run_ids[number - 1], err) &&
           make_job(&s->jobs[number - 1], over, page, data, err);
}

// ---- life

static void finish(void *ctx)
{
    struct served_pool *s = ctx;
    for (int i = 0; i < s->n; i++) {
        if (s->jobs[i].has_begun)
            rb_following_finish(&s->jobs[i].following);
    }
    rb_following_finish(&s->owner);
    rb_arena_finish(&s->arena);
    free(s->jobs);
    free(s);
}

bool rb_pool_serve_open(const struct rb_args *args, const char *id, struct rb_run_serve_source *out, struct rb_err *err)
{
    struct served_pool *s = rb_xcalloc(1, sizeof *s);
    const char **run_ids;
    s->args = args;
    rb_arena_init(&s->arena);
    *out = (struct rb_run_serve_source){.make = make, .finish = finish, .ctx = s};
    if (!rb_following_open(&s->owner, args, id, err) || !recall(s, &run_ids, err))
        return false;
    s->n = s->file.n_jobs;
    s->jobs = rb_xcalloc((size_t)s->n + 1, sizeof *s->jobs);
    out->n_pages = s->n + 1;
    return true;
}
