// Optimus (EuroSys'18) with an oracle for its predictions, as in the comparison of Pollux (OSDI'21): every job gets one
// GPU while there are any, then each further GPU goes to the job whose remaining time it shortens most. A job whose
// number does not change stays where it is; the others, fewest GPUs first, are placed again.
#include "engine/sharing/place.h"
#include "engine/sharing/sharings.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>

static bool create(const struct rb_sharing_options *options, void **out_state, struct rb_err *err)
{
    (void)options;
    (void)err;
    *out_state = NULL;
    return true;
}

static void destroy(void *state)
{
    (void)state;
}

// What one job gets while GPUs are assigned.
struct share {
    int gpus;
    double left_s; // on `gpus` GPUs
    double next_s; // on one more; INFINITY: it cannot use one
    double gain_s; // by it
};

static void look_one_further(struct share *s, const struct rb_shared_job *job)
{
    s->next_s = s->gpus < job->max_gpus ? job->oracle_s(job->arg, s->gpus + 1) : INFINITY;
    s->gain_s = isinf(s->next_s) ? -INFINITY : s->left_s - s->next_s;
}

static int hand_out_first(struct share *shares, const struct rb_shared_job *jobs, int n_jobs, int n_gpus)
{
    for (int j = 0; j < n_jobs; j++) {
        shares[j] = (struct share){.gain_s = -INFINITY};
        if (n_gpus == 0)
            continue;
        shares[j].gpus = 1;
        shares[j].left_s = jobs[j].oracle_s(jobs[j].arg, 1);
        look_one_further(&shares[j], &jobs[j]);
        n_gpus--;
    }
    return n_gpus;
}

static void hand_out_rest(struct share *shares, const struct rb_shared_job *jobs, int n_jobs, int n_gpus)
{
    for (; n_gpus > 0; n_gpus--) {
        int best = 0;
        for (int j = 1; j < n_jobs; j++)
            best = shares[j].gain_s > shares[best].gain_s ? j : best;
        if (!(shares[best].gain_s > 0))
            return;
        shares[best].left_s = shares[best].next_s;
        shares[best].gpus++;
        look_one_further(&shares[best], &jobs[best]);
    }
}

static int largest_share(const struct share *shares, int n_jobs)
{
    int most = 0;
    for (int j = 0; j < n_jobs; j++)
        most = shares[j].gpus > most ? shares[j].gpus : most;
    return most;
}

static void place(const struct share *shares, const struct rb_shared_job *jobs, int n_jobs,
                  struct rb_free_gpus *free_gpus, int *out)
{
    const int n_nodes = free_gpus->n_nodes, most = largest_share(shares, n_jobs);
    RB_AUTO(rb_auto_free) bool *stays = rb_xcalloc((size_t)n_jobs + 1, sizeof *stays);
    for (int j = 0; j < n_jobs; j++) {
        stays[j] = shares[j].gpus == rb_held_gpus(&jobs[j], n_nodes);
        if (stays[j])
            rb_free_gpus_keep(free_gpus, &jobs[j], out + (size_t)j * (size_t)n_nodes);
    }
    for (int gpus = 1; gpus <= most; gpus++) {
        for (int j = 0; j < n_jobs; j++) {
            if (!stays[j] && shares[j].gpus == gpus)
                rb_free_gpus_take(free_gpus, gpus, out + (size_t)j * (size_t)n_nodes);
        }
    }
}

static void divide(void *state, int64_t now_us, const struct rb_shared_cluster *cluster,
                   const struct rb_shared_job *jobs, int n_jobs, int *out)
{
    (void)state;
    (void)now_us;
    if (n_jobs == 0)
        return;
    RB_AUTO(rb_auto_free) struct share *shares = rb_xcalloc((size_t)n_jobs, sizeof *shares);
    RB_AUTO(rb_free_gpus_finish) struct rb_free_gpus free_gpus;
    rb_free_gpus_init(&free_gpus, cluster);
    const int left = hand_out_first(shares, jobs, n_jobs, free_gpus.total);
    hand_out_rest(shares, jobs, n_jobs, left);
    place(shares, jobs, n_jobs, &free_gpus, out);
}

const struct rb_sharing rb_sharing_optimus = {
    .name = "optimus",
    .summary = "GPU after GPU to the job it shortens most, by an oracle's step times and remaining iterations",
    .needs_oracle = true,
    .as_submitted = true,
    .freest_first = true,
    .create = create,
    .destroy = destroy,
    .divide = divide,
};
