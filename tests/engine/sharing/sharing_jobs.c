#include "sharing_jobs.h"

#include "check.h"

#include <string.h>

double made_up_rate(const void *model, int nodes, int gpus)
{
    const struct made_up_model *m = model;
    return gpus / (1 + m->overhead * (gpus - 1) + (nodes > 1 ? m->network : 0));
}

void make_up(struct made_up *m, int n_jobs, int n_nodes, int gpus_per_node)
{
    memset(m, 0, sizeof *m);
    m->n_jobs = n_jobs;
    m->cluster = (struct rb_shared_cluster){.n_nodes = n_nodes, .gpus = m->gpus};
    for (int n = 0; n < n_nodes; n++)
        m->gpus[n] = gpus_per_node;
    for (int j = 0; j < n_jobs; j++) {
        m->models[j] = (struct made_up_model){.overhead = 0.05, .network = 0.1};
        m->jobs[j] = (struct rb_shared_job){
            .id = j,
            .submitted_us = j,
            .age_us = 60000000,
            .max_gpus = n_nodes * gpus_per_node,
            .held = m->held + j * n_nodes,
            .asked_gpus = 1,
            .rate = made_up_rate,
            .arg = &m->models[j],
            .deadline_us = INT64_MAX,
            .weight = 1,
        };
    }
}

void make_up_at_random(struct made_up *m, struct rb_stream *draws)
{
    make_up(m, 1 + (int)rb_stream_below(draws, MAX_JOBS), 1 + (int)rb_stream_below(draws, MAX_NODES),
            1 + (int)rb_stream_below(draws, 8));
    for (int n = 0; n < m->cluster.n_nodes; n++)
        m->gpus[n] = 1 + (int)rb_stream_below(draws, 8);
    for (int j = 0; j < m->n_jobs; j++) {
        struct rb_shared_job *job = &m->jobs[j];
        m->models[j].overhead = 0.2 * rb_stream_uniform(draws);
        m->models[j].network = rb_stream_uniform(draws);
        job->age_us = (int64_t)rb_stream_below(draws, 36000000000);
        job->attained_gpu_s = 3600 * rb_stream_uniform(draws);
        job->max_gpus = (int)rb_stream_below(draws, 64);
        job->min_gpus = (int)rb_stream_below(draws, 3);
        job->weight = 0.5 + rb_stream_uniform(draws);
        if (rb_stream_below(draws, 8) == 0)
            job->rate = NULL;
    }
}

int gpus_of(const struct made_up *m, int job)
{
    int n_gpus = 0;
    for (int n = 0; n < m->cluster.n_nodes; n++)
        n_gpus += m->division[job * m->cluster.n_nodes + n];
    return n_gpus;
}

int nodes_of(const struct made_up *m, int job)
{
    int n_nodes = 0;
    for (int n = 0; n < m->cluster.n_nodes; n++)
        n_nodes += m->division[job * m->cluster.n_nodes + n] > 0;
    return n_nodes;
}

static void check_division(const struct made_up *m)
{
    for (int n = 0; n < m->cluster.n_nodes; n++) {
        int used = 0;
        for (int j = 0; j < m->n_jobs; j++) {
            assert_true(m->division[j * m->cluster.n_nodes + n] >= 0);
            used += m->division[j * m->cluster.n_nodes + n];
        }
        assert_true(used <= m->gpus[n]);
    }
    for (int j = 0; j < m->n_jobs; j++) {
        const int gpus = gpus_of(m, j);
        assert_true(gpus == 0 || (gpus >= m->jobs[j].min_gpus && gpus <= m->jobs[j].max_gpus));
    }
}

int divide(struct made_up *m, const struct rb_sharing *policy, void *state, int64_t now_us)
{
    const size_t n = (size_t)m->n_jobs * (size_t)m->cluster.n_nodes;
    memset(m->division, 0, n * sizeof *m->division);
    policy->divide(state, now_us, &m->cluster, m->jobs, m->n_jobs, m->division);
    check_division(m);
    int n_moved = 0;
    for (int j = 0; j < m->n_jobs; j++) {
        const size_t at = (size_t)j * (size_t)m->cluster.n_nodes;
        const bool moved = memcmp(m->held + at, m->division + at, (size_t)m->cluster.n_nodes * sizeof *m->held) != 0;
        n_moved += moved;
        m->jobs[j].restarts += moved && gpus_of(m, j) > 0;
    }
    memcpy(m->held, m->division, n * sizeof *m->held);
    return n_moved;
}

double harmonic_mean(const struct made_up *m)
{
    double sum = 0;
    for (int j = 0; j < m->n_jobs; j++) {
        const int gpus = gpus_of(m, j);
        sum += 1 / ((gpus > 0 ? made_up_rate(&m->models[j], nodes_of(m, j), gpus) : 0) + 1e-3);
    }
    return m->n_jobs / sum;
}
