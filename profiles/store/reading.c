#include "profiles/store/reading.h"

#include "profiles/catalog/infra.h"

#include <string.h>

const struct rb_reading *rb_reading_measured(const struct rb_job *job, const struct rb_profile *p, const struct rb_offer *o)
{
    if (!job->data_fetch || job->data_bytes_per_s > 0)
        return NULL;
    for (int i = 0; i < p->n_readings; i++) {
        const struct rb_reading *r = &p->readings[i];
        if (strcmp(r->fetch, job->data_fetch) == 0 && strcmp(r->infra, o->infra) == 0 &&
            strcmp(r->instance_type, o->instance_type) == 0)
            return r;
    }
    return NULL;
}

double rb_reading_scale(const struct rb_job *job, const struct rb_reading *r)
{
    return (double)job->data_bytes / (double)r->bytes;
}

static bool is_here(const struct rb_job *job, const struct rb_offer *o)
{
    return rb_infra_within(o->infra, "local") && !job->data_fetch;
}

int64_t rb_reading_declared_us(const struct rb_job *job, const struct rb_offer *o)
{
    return is_here(job, o) ? 0 : rb_job_data_us(job);
}

static double declared_s(const struct rb_job *job, const struct rb_offer *o)
{
    return (double)rb_reading_declared_us(job, o) / (double)RB_US_PER_S;
}

double rb_reading_mean_s(const struct rb_job *job, const struct rb_profile *p, const struct rb_offer *o)
{
    const struct rb_reading *r = rb_reading_measured(job, p, o);
    return r ? rb_reading_scale(job, r) * rb_dist_mean(&r->read_s) : declared_s(job, o);
}

double rb_reading_quantile_s(const struct rb_job *job, const struct rb_profile *p, const struct rb_offer *o, double q)
{
    const struct rb_reading *r = rb_reading_measured(job, p, o);
    return r ? rb_reading_scale(job, r) * rb_dist_quantile(&r->read_s, q) : declared_s(job, o);
}

bool rb_reading_is_known(const struct rb_job *job, const struct rb_profile *p, const struct rb_offer *o)
{
    if (is_here(job, o) || job->data_bytes_per_s > 0)
        return true;
    if (job->data_fetch)
        return rb_reading_measured(job, p, o) != NULL;
    return job->data_bytes == 0 || job->data_mount; // what is mounted is there, and is read while trials train
}
