#include "views/tables/pool_table.h"

#include "base/text/units.h"
#include "views/tables/report_table.h"

static const char *cost_words(const struct rb_pool_report *r, int64_t uusd, char out[static 32])
{
    return r->is_free && uusd == 0 ? "free" : rb_format_money(uusd, out);
}

static void job_row(const struct rb_pool_report *r, const struct rb_pool_report_job *job, struct rb_text_table *t)
{
    char text[32];
    const int64_t share = rb_pool_report_share_uusd(r, job);
    rb_text_table_cell(t, "%s", job->job);
    rb_text_table_cell(t, "%s", rb_report_outcome_words(job->outcome));
    rb_text_table_cell(t, "%s", job->arrived_us >= 0 ? rb_format_duration(job->arrived_us, text) : "-");
    rb_text_table_cell(t, "%s", job->jct_us >= 0 ? rb_format_duration(job->jct_us, text) : "-");
    rb_text_table_cell(t, "%s", job->alone_us >= 0 ? rb_format_duration(job->alone_us, text) : "-");
    rb_text_table_cell(t, "%s", rb_format_duration((int64_t)(job->use.gpu_s * RB_US_PER_S), text));
    rb_text_table_cell(t, "%s", share >= 0 ? cost_words(r, share, text) : "-");
    if (job->best_trial >= 0)
        rb_text_table_cell(t, "%s %.4g (trial %d)", job->metric_name, job->best_metric, job->best_trial);
    else
        rb_text_table_cell(t, "-");
    rb_text_table_cell(t, "%s", job->run_id ? job->run_id : "-");
}

void rb_pool_report_table(const struct rb_pool_report *r, const struct rb_text_style *style, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {
        {"job", false, 0},     {"outcome", false, 0}, {"arrived", true, 1}, {"took", true, 0}, {"alone", true, 1},
        {"GPU time", true, 1}, {"share", true, 0},    {"best", false, 0},   {"run", false, 2},
    };
    char time[32], cost[32];
    struct rb_text_table t;
    rb_buf_printf(out, "pool %s: %s after %s, %s, policy %s\n\n", r->run_id, r->outcome,
                  rb_format_duration(r->time_us, time), cost_words(r, r->cost_uusd, cost), r->policy);
    rb_text_table_init(&t, columns, 9);
    for (int i = 0; i < r->n_jobs; i++)
        job_row(r, &r->jobs[i], &t);
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
    rb_buf_puts(out, "\ntook: from its arrival; alone: predicted, had it had the whole pool for itself\n");
    if (r->instances_left == 0)
        rb_buf_puts(out, "instances left: 0\n");
    else if (r->instances_left > 0)
        rb_buf_printf(out, "instances left: %d; end them with: rbrun stop %s\n", r->instances_left, r->run_id);
    else
        rb_buf_puts(out, "instances left: unknown; look with: rbrun gc --dry-run\n");
}
