// The pages of a pool: page 0 lists its jobs, page k is that of the k-th.
#include "views/run/pool_serve.h"

#include "base/text/units.h"
#include "views/pages/page.h"
#include "views/run/pool_following.h"

#include <stdio.h>
#include <stdlib.h>

// ---- the page

static void row(struct rb_text_table *t, const struct rb_pool_report_job *job,
                const struct rb_pool_following_job *served)
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

static void jobs_section(struct rb_page *page, const struct rb_pool_following *s, const struct rb_pool_report *r)
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

static bool make_index(struct rb_pool_following *s, bool over, struct rb_buf *out_page, struct rb_buf *out_data,
                       struct rb_err *err)
{
    RB_AUTO(rb_buf_finish)
    struct rb_buf text = RB_BUF_INIT, title = RB_BUF_INIT, summary = RB_BUF_INIT, main = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc document = {0};
    struct rb_json j;
    struct rb_page page;
    const struct rb_pool_report r = rb_pool_following_report(s);
    rb_json_init(&j, &text, false);
    rb_pool_report_write(&r, &j);
    if (!rb_doc_parse_json(&document, "rb-pool-report", rb_buf_str(&text), text.len, err))
        return false;
    rb_pool_progress_write(&s->progress, 0, &summary);
    rb_buf_printf(&title, "Pool %s", r.run_id);
    rb_page_begin(&page, rb_buf_str(&title), rb_buf_str(&summary), false, true, out_page);
    jobs_section(&page, s, &r);
    rb_page_end(&page, rb_buf_str(&text));
    jobs_section(&(struct rb_page){.out = &main}, s, &r);
    rb_page_live(rb_buf_str(&summary), false, rb_buf_str(&main), document.root, over, out_data);
    return true;
}

// A job that is over has ended, even if the others go on.
static bool make_job(struct rb_following *f, bool over, struct rb_buf *page, struct rb_buf *data, struct rb_err *err)
{
    return rb_run_serve_make(f, over || f->over_us >= 0, page, data, err);
}

static bool make(void *ctx, int number, bool over, struct rb_buf *page, struct rb_buf *data, struct rb_err *err)
{
    struct rb_pool_following *s = ctx;
    s->ended = over;
    if (number == 0)
        return rb_pool_following_look(s, false, err) && make_index(s, over, page, data, err);
    return rb_pool_following_take_in(s, number - 1, err) &&
           make_job(&s->jobs[number - 1].following, over, page, data, err);
}

// ---- life

static void finish(void *ctx)
{
    rb_pool_following_finish(ctx);
    free(ctx);
}

bool rb_pool_serve_open(const char *state_dir, const char *id, struct rb_run_serve_source *out, struct rb_err *err)
{
    struct rb_pool_following *s = rb_xcalloc(1, sizeof *s);
    *out = (struct rb_run_serve_source){.make = make, .finish = finish, .ctx = s};
    if (!rb_pool_following_open(s, state_dir, id, err))
        return false;
    out->n_pages = s->n + 1;
    return true;
}
