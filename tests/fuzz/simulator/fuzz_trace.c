// Any bytes as a trace of jobs of one made-up application: refused with a reason and a place, or jobs in the order of their
// submission that the application can train.
#include "fuzz.h"

#include "simulator/cluster/trace.h"

#include <stdlib.h>

static const struct rb_app toy = {
    .name = "toy", .init_batch = 10, .max_batch = 40, .min_local_batch = 1, .max_local_batch = 10};
static const struct rb_apps apps = {.apps = &toy, .n = 1};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_job(const struct rb_trace *t, int i)
{
    const struct rb_trace_job *j = &t->jobs[i];
    require(j->name[0] && j->app == &toy && j->submitted_us >= 0);
    require(j->gpus >= 1 && j->gpus <= RB_APP_MAX_GPUS && j->batch >= j->gpus && j->batch >= 10 && j->batch <= 40);
    require(j->deadline_us > 0 && j->weight > 0);
    require(i == 0 || j->submitted_us > t->jobs[i - 1].submitted_us ||
            (j->submitted_us == t->jobs[i - 1].submitted_us && j->row > t->jobs[i - 1].row));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_trace trace;
    struct rb_err err = {0};
    if (rb_trace_parse(&trace, "jobs.csv", (const char *)bytes, n, &apps, &err)) {
        require(trace.n >= 1);
        for (int i = 0; i < trace.n; i++)
            check_job(&trace, i);
        rb_trace_finish(&trace);
    } else {
        require(err.code == RB_ERR_INVALID && err.message[0] && err.file[0]);
    }
    return 0;
}
