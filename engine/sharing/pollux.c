// Pollux as published (OSDI'21, section 4.2, and the artifact's policy): every round a genetic search over divisions of
// the cluster, which begins with the best divisions of the last round's search. The division with the greatest power
// mean of speed-ups is used.
#include "engine/sharing/pollux_row.h"
#include "engine/sharing/pollux_search.h"
#include "engine/sharing/sharings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pollux {
    struct rb_sharing_options options;
    uint32_t round;
    struct rb_arena arena; // of one round
    // The result of the last search: the members that are not dominated.
    int n_members, n_jobs, n_nodes;
    int *ids;       // [n_jobs], as the rows stand
    uint64_t *rows; // [n_members][n_jobs][rb_row_words(n_nodes)]
};

static bool create(const struct rb_sharing_options *options, void **out_state, struct rb_err *err)
{
    (void)err;
    struct pollux *p = rb_xcalloc(1, sizeof *p);
    p->options = *options;
    *out_state = p;
    return true;
}

static void destroy(void *state)
{
    struct pollux *p = state;
    if (!p)
        return;
    rb_arena_finish(&p->arena);
    free(p->ids);
    free(p->rows);
    free(p);
}

// ---- the problem of a round

// The jobs with the least service come first: conflicts are repaired in their favour.
static int by_service(const void *pa, const void *pb)
{
    const struct rb_shared_job *a = *(const struct rb_shared_job *const *)pa,
                               *b = *(const struct rb_shared_job *const *)pb;
    if (a->attained_gpu_s < b->attained_gpu_s || a->attained_gpu_s > b->attained_gpu_s)
        return a->attained_gpu_s < b->attained_gpu_s ? -1 : 1;
    if (a->submitted_us != b->submitted_us)
        return a->submitted_us < b->submitted_us ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static const struct rb_shared_job **sorted_by_service(struct rb_arena *arena, const struct rb_shared_job *jobs,
                                                      int n_jobs)
{
    const struct rb_shared_job **sorted = rb_arena_array(arena, (size_t)n_jobs, sizeof *sorted);
    for (int j = 0; j < n_jobs; j++)
        sorted[j] = &jobs[j];
    qsort(sorted, (size_t)n_jobs, sizeof *sorted, by_service);
    return sorted;
}

static uint64_t *row_of(struct rb_arena *arena, const int *gpus, int n_nodes)
{
    uint64_t *row = rb_arena_array(arena, (size_t)rb_row_words(n_nodes), sizeof *row);
    for (int n = 0; n < n_nodes; n++)
        rb_row_set(row, n, gpus[n]);
    return row;
}

static void init_problem(struct pollux *p, const struct rb_shared_cluster *cluster,
                         const struct rb_shared_job *const *jobs, int n_jobs, struct rb_pollux_speedups *speedups,
                         struct rb_pollux_problem *out)
{
    const int n_words = rb_row_words(cluster->n_nodes);
    uint64_t *base = rb_arena_array(&p->arena, (size_t)n_jobs * (size_t)n_words, sizeof *base);
    int *min_gpus = rb_arena_array(&p->arena, (size_t)n_jobs, sizeof *min_gpus);
    int *max_gpus = rb_arena_array(&p->arena, (size_t)n_jobs, sizeof *max_gpus);
    rb_pollux_speedups_init(speedups, &p->arena, &p->options, cluster, jobs, n_jobs);
    for (int j = 0; j < n_jobs; j++) {
        for (int n = 0; n < cluster->n_nodes; n++)
            rb_row_set(base + (size_t)j * (size_t)n_words, n, jobs[j]->held[n]);
        min_gpus[j] = jobs[j]->min_gpus;
        max_gpus[j] = speedups->rows[j].max_gpus;
    }
    *out = (struct rb_pollux_problem){
        .n_jobs = n_jobs,
        .n_nodes = cluster->n_nodes,
        .n_words = n_words,
        .capacity = row_of(&p->arena, cluster->gpus, cluster->n_nodes),
        .base = base,
        .min_gpus = min_gpus,
        .max_gpus = max_gpus,
        .avoid_interference = p->options.avoid_interference,
        .log_not_grown = log1p(-1.0 / n_jobs),
        .speedups = speedups,
    };
}

// ---- from round to round

static int row_of_job(const struct pollux *p, int id)
{
    for (int j = 0; j < p->n_jobs; j++) {
        if (p->ids[j] == id)
            return j;
    }
    return -1;
}

// Rows of jobs that have gone are dropped, new jobs start with none; likewise for nodes.
static void add_last_members(const struct pollux *p, struct rb_pollux_search *search, struct rb_stream *draws,
                             const struct rb_shared_job *const *jobs, uint64_t *rows)
{
    const struct rb_pollux_problem *problem = search->problem;
    const int n_nodes = p->n_nodes < problem->n_nodes ? p->n_nodes : problem->n_nodes;
    const int n_words = rb_row_words(p->n_nodes);
    for (int m = 0; m < p->n_members; m++) {
        memset(rows, 0, search->n_row_words * sizeof *rows);
        for (int j = 0; j < problem->n_jobs; j++) {
            const int from = row_of_job(p, jobs[j]->id);
            for (int n = 0; from >= 0 && n < n_nodes; n++) {
                const int gpus =
                    rb_row_get(p->rows + ((size_t)m * (size_t)p->n_jobs + (size_t)from) * (size_t)n_words, n);
                rb_row_set(rows + (size_t)j * (size_t)problem->n_words, n, gpus);
            }
        }
        rb_pollux_search_add(search, draws, rows);
    }
}

static void remember(struct pollux *p, const struct rb_pollux_search *search, const struct rb_shared_job *const *jobs)
{
    const struct rb_pollux_problem *problem = search->problem;
    p->n_jobs = problem->n_jobs;
    p->n_nodes = problem->n_nodes;
    p->n_members = search->n_front;
    p->ids = rb_xrealloc(p->ids, (size_t)p->n_jobs, sizeof *p->ids);
    p->rows = rb_xrealloc(p->rows, (size_t)p->n_members * search->n_row_words, sizeof *p->rows);
    for (int j = 0; j < p->n_jobs; j++)
        p->ids[j] = jobs[j]->id;
    for (int m = 0; m < p->n_members; m++)
        memcpy(p->rows + (size_t)m * search->n_row_words, rb_pollux_rows_of(search, m),
               search->n_row_words * sizeof *p->rows);
}

static void divide(void *state, int64_t now_us, const struct rb_shared_cluster *cluster,
                   const struct rb_shared_job *jobs, int n_jobs, int *out)
{
    (void)now_us;
    struct pollux *p = state;
    if (n_jobs == 0 || cluster->n_nodes == 0)
        return;
    rb_arena_reset(&p->arena);
    const struct rb_shared_job **sorted = sorted_by_service(&p->arena, jobs, n_jobs);
    struct rb_pollux_speedups speedups;
    struct rb_pollux_problem problem;
    struct rb_pollux_search search;
    struct rb_stream draws;
    init_problem(p, cluster, sorted, n_jobs, &speedups, &problem);
    rb_pollux_search_init(&search, &p->arena, &problem);
    rb_stream_init(&draws, &(struct rb_stream_key){.seed = p->options.seed,
                                                   .purpose = RB_DRAW_SHARE,
                                                   .stage = RB_POLLUX_GENERATIONS,
                                                   .replicate = p->round});
    add_last_members(p, &search, &draws, sorted, search.spare);
    if (search.n_members == 0)
        rb_pollux_search_add(&search, &draws, problem.base);
    const int best = rb_pollux_search_run(&search, p->options.seed, p->round++);
    const uint64_t *rows = rb_pollux_rows_of(&search, best);
    for (int j = 0; j < n_jobs; j++) {
        for (int n = 0; n < cluster->n_nodes; n++)
            out[(sorted[j] - jobs) * cluster->n_nodes + n] = rb_row_get(rows + (size_t)j * (size_t)problem.n_words, n);
    }
    remember(p, &search, sorted);
}

const struct rb_sharing rb_sharing_pollux = {
    .name = "pollux",
    .summary = "goodput of all jobs by a genetic search, as published (OSDI'21)",
    .create = create,
    .destroy = destroy,
    .divide = divide,
};
