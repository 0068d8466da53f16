#include "executor/pool/pool_report.h"

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
