// Tiresias (NSDI'19), two queues by attained service: a job starts in the first and sinks to the second for good once
// its GPU time has reached a threshold; within a queue first come, first served. Every job runs on its submitted number
// of GPUs or not at all: one that does not fit is skipped, and a running job gives way to those before it.
#include "engine/sharing/place.h"
#include "engine/sharing/sharings.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define N_QUEUES        2
#define DEMOTION_GPU_US (INT64_C(16) * 3600 * 1000000) // the threshold of the published comparison: 16 GPU-hours

struct queue {
    int *ids; // jobs in the order of their arrival in this queue
    int n;
};

struct state {
    struct queue queues[N_QUEUES];
    int cap;     // of each queue
    int last_id; // the highest queued id; ids ascend by submission
};

static bool create(const struct rb_sharing_options *options, void **out_state, struct rb_err *err)
{
    (void)options;
    (void)err;
    struct state *s = rb_xcalloc(1, sizeof *s);
    s->last_id = -1;
    *out_state = s;
    return true;
}

static void destroy(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    for (int q = 0; q < N_QUEUES; q++)
        free(s->queues[q].ids);
    free(s);
}

static int find_job(const struct rb_shared_job *jobs, int n_jobs, int id)
{
    int low = 0, high = n_jobs;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (jobs[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n_jobs && jobs[low].id == id ? low : -1;
}

static void reserve(struct state *s, int n_jobs)
{
    if (n_jobs <= s->cap)
        return;
    s->cap = 2 * n_jobs;
    for (int q = 0; q < N_QUEUES; q++)
        s->queues[q].ids = rb_xrealloc(s->queues[q].ids, (size_t)s->cap, sizeof(int));
}

// Jobs that ended leave their queue.
static void forget_ended(struct queue *q, const struct rb_shared_job *jobs, int n_jobs)
{
    int n = 0;
    for (int i = 0; i < q->n; i++) {
        if (find_job(jobs, n_jobs, q->ids[i]) >= 0)
            q->ids[n++] = q->ids[i];
    }
    q->n = n;
}

static void queue_arrivals(struct state *s, const struct rb_shared_job *jobs, int n_jobs)
{
    for (int j = 0; j < n_jobs; j++) {
        if (jobs[j].id <= s->last_id)
            continue;
        s->queues[0].ids[s->queues[0].n++] = jobs[j].id;
        s->last_id = jobs[j].id;
    }
}

static bool has_sunk(const struct rb_shared_job *job)
{
    return job->executed_us >= (DEMOTION_GPU_US + job->asked_gpus - 1) / job->asked_gpus;
}

// In the order of submission, not of the first queue: several may sink at once. A job that has sunk stays there.
static void demote(struct state *s, const struct rb_shared_job *jobs, int n_jobs)
{
    struct queue *first = &s->queues[0], *second = &s->queues[1];
    int n = 0;
    for (int i = 0; i < first->n; i++) {
        const int id = first->ids[i], j = find_job(jobs, n_jobs, id);
        if (has_sunk(&jobs[j]))
            second->ids[second->n++] = id;
        else
            first->ids[n++] = id;
    }
    first->n = n;
}

// Decides which jobs run: down the queues, each that fits into the remaining GPUs.
static void admit(const struct state *s, const struct rb_shared_job *jobs, int n_jobs, int n_gpus, bool *runs)
{
    for (int q = 0; q < N_QUEUES; q++) {
        for (int i = 0; i < s->queues[q].n; i++) {
            const int j = find_job(jobs, n_jobs, s->queues[q].ids[i]);
            runs[j] = jobs[j].asked_gpus <= n_gpus;
            n_gpus -= runs[j] ? jobs[j].asked_gpus : 0;
        }
    }
}

static void place(const struct state *s, const struct rb_shared_job *jobs, int n_jobs, const bool *runs,
                  struct rb_free_gpus *free_gpus, int *out)
{
    const int n_nodes = free_gpus->n_nodes;
    for (int j = 0; j < n_jobs; j++) {
        if (runs[j])
            rb_free_gpus_keep(free_gpus, &jobs[j], out + (size_t)j * (size_t)n_nodes);
    }
    for (int q = 0; q < N_QUEUES; q++) {
        for (int i = 0; i < s->queues[q].n; i++) {
            const int j = find_job(jobs, n_jobs, s->queues[q].ids[i]);
            if (runs[j] && rb_held_gpus(&jobs[j], n_nodes) == 0)
                rb_free_gpus_take(free_gpus, jobs[j].asked_gpus, out + (size_t)j * (size_t)n_nodes);
        }
    }
}

static void divide(void *state, int64_t now_us, const struct rb_shared_cluster *cluster,
                   const struct rb_shared_job *jobs, int n_jobs, int *out)
{
    (void)now_us;
    struct state *s = state;
    reserve(s, n_jobs);
    for (int q = 0; q < N_QUEUES; q++)
        forget_ended(&s->queues[q], jobs, n_jobs);
    queue_arrivals(s, jobs, n_jobs);
    demote(s, jobs, n_jobs);

    RB_AUTO(rb_auto_free) bool *runs = rb_xcalloc((size_t)n_jobs + 1, sizeof *runs);
    RB_AUTO(rb_free_gpus_finish) struct rb_free_gpus free_gpus;
    rb_free_gpus_init(&free_gpus, cluster);
    admit(s, jobs, n_jobs, free_gpus.total, runs);
    place(s, jobs, n_jobs, runs, &free_gpus, out);
}

const struct rb_sharing rb_sharing_tiresias = {
    .name = "tiresias",
    .summary = "two queues by attained GPU time, as many GPUs as a job was submitted with",
    .as_submitted = true,
    .freest_first = true,
    .create = create,
    .destroy = destroy,
    .divide = divide,
};
