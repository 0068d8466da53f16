#include "engine/sharing/size_speedup.h"

#include "base/arena.h"

#include <stdlib.h>

struct candidate {
    const struct rb_shared_job *job;
    double one;     // rate on one GPU, derived from the fewest it can use
    int gpus;       // its GPUs now
    double speedup; // with them
    int step;       // GPUs of its best next step, 0: no step helps
    double gain;    // of that step, per GPU
};

static double rate(const struct candidate *c, int gpus, int gpus_per_node)
{
    if (!c->job->rate)
        return gpus;
    return c->job->rate(c->job->arg, (gpus + gpus_per_node - 1) / gpus_per_node, gpus);
}

// Up to one node more: after that the question repeats.
static void find_step(struct candidate *c, int gpus_per_node)
{
    c->step = 0;
    c->gain = 0;
    for (int step = 1; step <= gpus_per_node && c->gpus + step <= c->job->max_gpus && c->one > 0; step++) {
        if (c->gpus + step < c->job->min_gpus)
            continue;
        const double gain = (rate(c, c->gpus + step, gpus_per_node) / c->one - c->speedup) / step;
        if (gain > c->gain) {
            c->gain = gain;
            c->step = step;
        }
    }
}

static struct candidate begin(const struct rb_shared_job *job, int gpus_per_node)
{
    struct candidate c = {.job = job};
    const int least = job->min_gpus > 1 ? job->min_gpus : 1;
    c.one = least <= job->max_gpus ? rate(&c, least, gpus_per_node) / least : 0;
    find_step(&c, gpus_per_node);
    return c;
}

static struct candidate *best(struct candidate *all, int n, int left)
{
    struct candidate *found = NULL;
    for (int i = 0; i < n; i++) {
        if (all[i].step > 0 && all[i].step <= left && (!found || all[i].gain > found->gain))
            found = &all[i];
    }
    return found;
}

void rb_size_speedup(const struct rb_autoscale_view *view, int max_nodes, int gpus_per_node, double *out)
{
    RB_AUTO(rb_auto_free) struct candidate *all = rb_xcalloc((size_t)view->n_jobs + 1, sizeof *all);
    for (int i = 0; i < view->n_jobs; i++)
        all[i] = begin(&view->jobs[i], gpus_per_node);
    double sum = 0;
    int used = 0;
    out[0] = 0;
    for (int n = 1; n <= max_nodes; n++) {
        struct candidate *c;
        while ((c = best(all, view->n_jobs, n * gpus_per_node - used))) {
            sum += c->gain * c->step;
            used += c->step;
            c->speedup += c->gain * c->step;
            c->gpus += c->step;
            find_step(c, gpus_per_node);
        }
        out[n] = sum;
    }
}

bool rb_sizer_create(const struct rb_autoscale_options *options, void **out_state, struct rb_err *err)
{
    (void)err;
    struct rb_sizer *s = rb_xcalloc(1, sizeof *s);
    s->options = *options;
    s->speedup = rb_xcalloc((size_t)options->max_nodes + 1, sizeof *s->speedup);
    *out_state = s;
    return true;
}

void rb_sizer_destroy(void *state)
{
    struct rb_sizer *s = state;
    free(s->speedup);
    free(s);
}
