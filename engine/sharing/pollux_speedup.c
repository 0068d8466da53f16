#include "engine/sharing/pollux_speedup.h"

#include <math.h>

#define US_PER_S    1e6
#define PUBLISHED_P -1
#define LEAST       1e-3 // keeps the mean above 0 while some job has no GPU; as published

static double term(const struct rb_pollux_speedups *s, double speedup)
{
    const double scaled = speedup * s->scale;
    if (s->fairness_p == -1)
        return 1 / (scaled + LEAST);
    if (s->fairness_p == 0)
        return log(fmax(scaled, LEAST));
    return pow(scaled + LEAST, s->fairness_p);
}

double rb_pollux_mean(const struct rb_pollux_speedups *s, double sum)
{
    if (s->fairness_p == -1)
        return s->n_jobs / sum;
    if (s->fairness_p == 0)
        return exp(sum / s->n_jobs);
    return pow(sum / s->n_jobs, 1 / s->fairness_p);
}

// Jobs that were never started have had no restart: the first start does not count.
static double restart_factor(const struct rb_shared_job *job, double delay_s)
{
    const double age_s = (double)job->age_us / US_PER_S;
    const int n_restarts = job->restarts > 0 ? job->restarts - 1 : 0;
    return fmax(age_s - n_restarts * delay_s, 0) / (age_s + delay_s);
}

// The job's rate on its fair share: on one node, as published, even if no node has that many GPUs. A model that refuses
// that number is asked for fewer.
static double fair_rate(const struct rb_shared_job *job, int fair_gpus)
{
    for (int gpus = fair_gpus; job->rate && gpus >= 1; gpus = gpus > 1 ? gpus / 2 : 0) {
        const double rate = job->rate(job->arg, 1, gpus);
        if (rate > 0)
            return rate;
    }
    return 0;
}

void rb_pollux_speedups_init(struct rb_pollux_speedups *s, struct rb_arena *arena,
                             const struct rb_sharing_options *options, const struct rb_shared_cluster *cluster,
                             const struct rb_shared_job *const *jobs, int n_jobs)
{
    int n_gpus = 0;
    for (int n = 0; n < cluster->n_nodes; n++)
        n_gpus += cluster->gpus[n];
    *s = (struct rb_pollux_speedups){
        .fairness_p = isnan(options->fairness_p) ? PUBLISHED_P : options->fairness_p,
        .scale = (double)cluster->n_nodes / n_gpus,
        .jobs = jobs,
        .n_jobs = n_jobs,
        .fair_gpus = (n_gpus + n_jobs - 1) / n_jobs,
        .rows = rb_arena_array(arena, (size_t)n_jobs, sizeof *s->rows),
    };
    s->nothing.kept = s->nothing.moved = term(s, 0);
    const int max_nodes = cluster->n_nodes < RB_POLLUX_MAX_NODES ? cluster->n_nodes : RB_POLLUX_MAX_NODES;
    for (int j = 0; j < n_jobs; j++) {
        const int max_gpus = jobs[j]->max_gpus < n_gpus ? jobs[j]->max_gpus : n_gpus;
        const size_t n_cells = (size_t)max_gpus * (size_t)max_nodes;
        s->rows[j] = (struct rb_pollux_row){
            .fair_rate = fair_rate(jobs[j], s->fair_gpus),
            .restart_factor = restart_factor(jobs[j], (double)options->restart_us / US_PER_S),
            .max_gpus = max_gpus,
            .cells = rb_arena_array(arena, n_cells, sizeof *s->rows[j].cells),
        };
        for (size_t i = 0; i < n_cells; i++)
            s->rows[j].cells[i].speedup = -1;
    }
}

void rb_pollux_speedup_ask(struct rb_pollux_speedups *s, int job, int nodes, int gpus, struct rb_pollux_speedup *cell)
{
    const struct rb_shared_job *j = s->jobs[job];
    const struct rb_pollux_row *row = &s->rows[job];
    if (!j->rate)
        cell->speedup = (double)gpus / s->fair_gpus; // until it is measured, a job scales perfectly
    else
        cell->speedup = row->fair_rate > 0 ? j->rate(j->arg, nodes, gpus) / row->fair_rate : 0;
    cell->kept = term(s, cell->speedup);
    cell->moved = term(s, cell->speedup * row->restart_factor);
}
