#include "samplers/check.h"

#include "samplers/search.h"

bool rb_sampler_check(const struct rb_job *job, struct rb_err *err)
{
    struct rb_search *search;
    if (!job->scheduler.sampler.type || job->scheduler.sampler.command)
        return true;
    if (!rb_search_create(job, &search, err))
        return false;
    rb_search_destroy(search);
    return true;
}
