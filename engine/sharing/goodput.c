#include "engine/sharing/goodput.h"

#include "base/arena.h"
#include "engine/sharing/goodput_choice.h"
#include "engine/sharing/goodput_place.h"
#include "engine/sharing/goodput_value.h"
#include "engine/sharing/sharings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 128 // sizes of one job: 3 + those below two nodes + 16 for every doubling from 16 nodes on

struct goodput {
    struct rb_sharing_options options;
    struct rb_goodput_rules rules;
    struct rb_arena arena; // of one round
};

bool rb_goodput_create(const struct rb_sharing_options *options, const struct rb_goodput_rules *rules, void **out_state,
                       struct rb_err *err)
{
    (void)err;
    struct goodput *g = rb_xcalloc(1, sizeof *g);
    g->options = *options;
    g->rules = *rules;
    *out_state = g;
    return true;
}

static bool create(const struct rb_sharing_options *options, void **out_state, struct rb_err *err)
{
    struct rb_goodput_rules rules;
    rb_goodput_rules_defaults(&rules);
    return rb_goodput_create(options, &rules, out_state, err);
}

static void destroy(void *state)
{
    struct goodput *g = state;
    if (!g)
        return;
    rb_arena_finish(&g->arena);
    free(g);
}

// ---- sizes

struct round {
    struct goodput *g;
    const struct rb_shared_cluster *cluster;
    const struct rb_shared_job *jobs;
    int n_jobs;
    int n_gpus, node_gpus; // of the cluster; of its largest node
    struct rb_job_values values;
    struct rb_size_choices *sizes; // of each job
    bool *can_stay;                // option 1 is to continue as it is
    int *chosen;                   // option of each job
    int *out;
};

// Every number of GPUs within a node, then whole nodes, and from 16 nodes on in growing steps.
static int next_size(const struct round *r, int gpus)
{
    if (gpus < r->node_gpus)
        return gpus + 1;
    const int nodes = gpus / r->node_gpus;
    return (nodes + nodes / 16 + 1) * r->node_gpus;
}

static int count(const int *row, int n_nodes, int *out_nodes)
{
    int gpus = 0;
    *out_nodes = 0;
    for (int n = 0; n < n_nodes; n++) {
        gpus += row[n];
        *out_nodes += row[n] > 0;
    }
    return gpus;
}

// No GPU; its present GPUs, without a restart; sizes ascending, with one.
static void list_sizes(struct round *r, int j)
{
    const struct rb_shared_job *job = &r->jobs[j];
    struct rb_size_choice *options = rb_arena_array(&r->g->arena, MAX_OPTIONS, sizeof *options);
    int nodes, n = 0;
    const int held = count(job->held, r->cluster->n_nodes, &nodes);
    options[n++] = (struct rb_size_choice){0, rb_job_value_of_nothing(&r->values, j)};
    r->can_stay[j] = held > 0 && held >= job->min_gpus && held <= job->max_gpus;
    if (r->can_stay[j])
        options[n++] = (struct rb_size_choice){held, rb_job_value_on(&r->values, j, nodes, held, false)};
    const int most = job->max_gpus < r->n_gpus ? job->max_gpus : r->n_gpus;
    for (int gpus = 1; gpus <= most && n < MAX_OPTIONS; gpus = next_size(r, gpus)) {
        if (gpus < job->min_gpus)
            continue;
        nodes = (gpus + r->node_gpus - 1) / r->node_gpus;
        const double value = rb_job_value_on(&r->values, j, nodes, gpus, true);
        if (value > -INFINITY)
            options[n++] = (struct rb_size_choice){gpus, value};
    }
    r->sizes[j] = (struct rb_size_choices){options, n};
}

static int chosen_gpus(const struct round *r, int j)
{
    return r->sizes[j].options[r->chosen[j]].gpus;
}

// ---- nodes

static int *row_of(const struct round *r, int j)
{
    return r->out + (size_t)j * (size_t)r->cluster->n_nodes;
}

struct mover {
    int job, gpus;
};

// Largest first: they need whole nodes.
static int by_size(const void *pa, const void *pb)
{
    const struct mover *a = pa, *b = pb;
    return a->gpus != b->gpus ? b->gpus - a->gpus : a->job - b->job;
}

static int list_movers(struct round *r, struct rb_gaps *gaps, struct mover *out)
{
    int n = 0;
    for (int j = 0; j < r->n_jobs; j++) {
        const bool stays = r->can_stay[j] && r->chosen[j] == 1;
        if (stays && rb_gaps_take(gaps, r->jobs[j].held))
            memcpy(row_of(r, j), r->jobs[j].held, (size_t)r->cluster->n_nodes * sizeof *r->out);
        else if (chosen_gpus(r, j) > 0)
            out[n++] = (struct mover){j, chosen_gpus(r, j)};
    }
    qsort(out, (size_t)n, sizeof *out, by_size);
    return n;
}

// If the gaps are too small for the chosen size, a job gets the largest that fits.
static void place(struct round *r)
{
    struct rb_gaps gaps;
    struct mover *movers = rb_arena_array(&r->g->arena, (size_t)r->n_jobs, sizeof *movers);
    rb_gaps_init(&gaps, &r->g->arena, r->cluster, r->g->options.avoid_interference);
    const int n_movers = list_movers(r, &gaps, movers);
    for (int i = 0; i < n_movers; i++) {
        const int j = movers[i].job, least = r->jobs[j].min_gpus > 1 ? r->jobs[j].min_gpus : 1;
        for (int gpus = movers[i].gpus; gpus >= least; gpus--) {
            if (rb_gaps_find(&gaps, gpus, row_of(r, j)) > 0)
                break;
        }
    }
}

static void divide(void *state, int64_t now_us, const struct rb_shared_cluster *cluster,
                   const struct rb_shared_job *jobs, int n_jobs, int *out)
{
    (void)now_us;
    struct goodput *g = state;
    struct round r = {.g = g, .cluster = cluster, .jobs = jobs, .n_jobs = n_jobs, .out = out};
    for (int n = 0; n < cluster->n_nodes; n++) {
        r.n_gpus += cluster->gpus[n];
        r.node_gpus = cluster->gpus[n] > r.node_gpus ? cluster->gpus[n] : r.node_gpus;
    }
    if (n_jobs == 0 || r.n_gpus == 0)
        return;
    rb_arena_reset(&g->arena);
    r.sizes = rb_arena_array(&g->arena, (size_t)n_jobs, sizeof *r.sizes);
    r.can_stay = rb_arena_array(&g->arena, (size_t)n_jobs, sizeof *r.can_stay);
    r.chosen = rb_arena_array(&g->arena, (size_t)n_jobs, sizeof *r.chosen);
    rb_job_values_init(&r.values, &g->arena, &g->rules, &g->options, r.n_gpus, jobs, n_jobs);
    for (int j = 0; j < n_jobs; j++)
        list_sizes(&r, j);
    rb_choose_sizes(&g->arena, r.sizes, n_jobs, r.n_gpus, r.chosen);
    place(&r);
}

const struct rb_sharing rb_sharing_goodput = {
    .name = "goodput",
    .summary =
        "goodput of all jobs by an exact choice of sizes, least work left first; moves only where a restart pays",
    .create = create,
    .destroy = destroy,
    .divide = divide,
};
