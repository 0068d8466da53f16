// Computes SPEEDUP_j(N, K) of every job over its fair share, and its term of the power mean with an unchanged and with
// a changed placement (Pollux, OSDI'21, section 4.2). Asks the job's model once for each (nodes, GPUs) and round.
#ifndef RB_ENGINE_SHARING_POLLUX_SPEEDUP_H
#define RB_ENGINE_SHARING_POLLUX_SPEEDUP_H

#include "base/arena.h"
#include "engine/sharing/sharing.h"

#define RB_POLLUX_MAX_NODES 16 // of one job, as published

struct rb_pollux_speedup {
    double speedup; // < 0: not asked yet
    double kept;    // its term of the power mean without a restart
    double moved;   // with a restart
};

struct rb_pollux_speedups {
    double fairness_p;
    double scale;                     // a speed-up over the fair share -> one where a whole node's share counts 1
    const struct rb_shared_job *const *jobs;
    int n_jobs;
    int fair_gpus;                    // ceil(GPUs / jobs)
    struct rb_pollux_speedup nothing; // of no GPU at all, the same for every job
    struct rb_pollux_row {
        double fair_rate;             // on fair_gpus of one node, however many that node has: as published
        double restart_factor;        // max(T - R * delay, 0) / (T + delay)
        int max_gpus;
        struct rb_pollux_speedup *cells; // [nodes - 1][gpus - 1]
    } *rows;                          // [n_jobs]
};

// Owns: everything is in the arena; jobs are borrowed.
void rb_pollux_speedups_init(struct rb_pollux_speedups *s, struct rb_arena *arena, const struct rb_sharing_options *options,
                             const struct rb_shared_cluster *cluster, const struct rb_shared_job *const *jobs, int n_jobs);

void rb_pollux_speedup_ask(struct rb_pollux_speedups *s, int job, int nodes, int gpus, struct rb_pollux_speedup *cell);

// gpus <= the job's max_gpus, nodes <= min(gpus, RB_POLLUX_MAX_NODES); both 0 or none.
static inline const struct rb_pollux_speedup *rb_pollux_speedup_of(struct rb_pollux_speedups *s, int job, int nodes, int gpus)
{
    if (gpus == 0)
        return &s->nothing;
    struct rb_pollux_row *row = &s->rows[job];
    struct rb_pollux_speedup *cell = &row->cells[(nodes - 1) * row->max_gpus + gpus - 1];
    if (cell->speedup < 0)
        rb_pollux_speedup_ask(s, job, nodes, gpus, cell);
    return cell;
}

// The power mean of terms that add up to `sum`.
double rb_pollux_mean(const struct rb_pollux_speedups *s, double sum);

#endif
