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
    rb_json_put(j, "{trial: %d metric: %g metric_name: %s|null}", job->best_trial, job->best_metric, job->metric_name);
}

void rb_pool_report_write(const struct rb_pool_report *r, struct rb_json *j)
{
    rb_json_put(j, "{format: 'rb-pool-report/1' run: %s policy: %s|null outcome: %s|null time_us: %jd cost_uusd: %jd",
                r->run_id, r->policy, r->outcome, r->time_us, r->cost_uusd);
    rb_json_put(j, "instances_left: %d|null jobs: [", r->instances_left);
    for (int i = 0; i < r->n_jobs; i++) {
        const struct rb_pool_report_job *job = &r->jobs[i];
        rb_json_put(j,
                    "{job: %s run: %s|null outcome: %s|null arrived_us: %jd|null jct_us: %jd|null alone_us: %jd|null",
                    job->job, job->run_id, job->outcome, job->arrived_us, job->jct_us, job->alone_us);
        rb_json_put(j, "gpu_s: %g times_lent: %d share_uusd: %jd|null", job->use.gpu_s, job->use.changes,
                    rb_pool_report_share_uusd(r, job));
        write_best(job, j);
        rb_json_end_object(j);
    }
    rb_json_put(j, "]}");
}
