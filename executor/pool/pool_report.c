// What a pool did, job by job.
#include "commands/rbrun/rbrun_pool.h"

#include "base/units.h"
#include "views/tables/report_table.h"

#include <inttypes.h>
#include <math.h>

static double lent_gpu_s(const struct rb_pool_report *r)
{
    double sum = 0;
    for (int i = 0; i < r->n_jobs; i++)
        sum += r->jobs[i].use.gpu_s;
    return sum;
}

int64_t rb_pool_report_share_uusd(const struct rb_pool_report *r, const struct rb_pool_report_job *job)
{
    const double all = lent_gpu_s(r);
    return all > 0 ? llround((double)r->cost_uusd * job->use.gpu_s / all) : -1;
}

static void write_best(const struct rb_pool_report_job *job, struct rb_json *j)
{
    rb_json_key(j, "best");
    if (job->best_trial < 0 || !isfinite(job->best_metric)) {
        rb_json_null(j);
        return;
    }
    rb_json_begin_object(j);
    rb_json_kint(j, "trial", job->best_trial);
    rb_json_kdouble(j, "metric", job->best_metric);
    rb_json_kstring(j, "metric_name", job->metric_name);
    rb_json_end_object(j);
}

void rb_pool_report_write(const struct rb_pool_report *r, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kstring(j, "format", "rb-pool-report/1");
    rb_json_kstring(j, "run", r->run_id);
    rb_json_kstring(j, "policy", r->policy);
    rb_json_kstring(j, "outcome", r->outcome);
    rb_json_kint(j, "time_us", r->time_us);
    rb_json_kint(j, "cost_uusd", r->cost_uusd);
    rb_json_kint_or_null(j, "instances_left", r->instances_left);
    rb_json_key(j, "jobs");
    rb_json_begin_array(j);
    for (int i = 0; i < r->n_jobs; i++) {
        const struct rb_pool_report_job *job = &r->jobs[i];
        rb_json_begin_object(j);
        rb_json_kstring(j, "job", job->job);
        rb_json_kstring(j, "run", job->run_id);
        rb_json_kstring(j, "outcome", job->outcome);
        rb_json_kint_or_null(j, "arrived_us", job->arrived_us);
        rb_json_kint_or_null(j, "jct_us", job->jct_us);
        rb_json_kint_or_null(j, "alone_us", job->alone_us);
        rb_json_kdouble(j, "gpu_s", job->use.gpu_s);
        rb_json_kint(j, "times_lent", job->use.changes);
        rb_json_kint_or_null(j, "share_uusd", rb_pool_report_share_uusd(r, job));
        write_best(job, j);
        rb_json_end_object(j);
    }
    rb_json_end_array(j);
    rb_json_end_object(j);
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
    rb_text_table_cell(t, "%s", share >= 0 ? rb_format_money(share, text) : "-");
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
                  rb_format_duration(r->time_us, time), rb_format_money(r->cost_uusd, cost), r->policy);
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
