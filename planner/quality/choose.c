#include "planner/quality/choose.h"

#include "planner/quality/gain.h"

#include "engine/core/rungs.h"
#include "engine/tuners/brackets.h"
#include "profiles/job/job_scheduler.h"

#include <math.h>
#include <string.h>

#define COMPARED_DRAWS 2000
#define MOST_SHAPES    64
#define GROWTH         1.2 // of the number of trials, squared each time, until both sides of the affordable one are known
#define MOST_GROWTH    4
#define EXACT          32   // its error is at most one 32nd
#define SURELY_MORE    1.5  // times the units of the best search: not affordable by any

struct choosing {
    const struct rb_job *job;
    const struct rb_quality_law *law;
    const struct rb_affordable *afford;
    struct rb_choice_row rows[MOST_SHAPES];
    int n, chosen, n_asked;
    double units; // of training that the best search so far has; 0: none yet
    bool cut;
};

struct rb_job rb_job_with_choice(const struct rb_job *job, const struct rb_search_choice *choice)
{
    struct rb_job with = *job;
    with.scheduler.eta = choice->eta;
    with.scheduler.min_resource = choice->min_resource;
    with.scheduler.brackets = choice->brackets;
    with.scheduler.num_trials = choice->num_trials;
    return with;
}

bool rb_job_expect(const struct rb_job *job, const struct rb_quality_law *law, int draws, struct rb_best *out,
                   struct rb_err *err)
{
    struct rb_search_shape shape;
    const char *source;
    if (!rb_search_shape_of(job, &shape, err))
        return false;
    rb_search_shape_scale(&shape, rb_sampler_gain(job->scheduler.sampler.type, rb_search_shape_trials(&shape), &source));
    rb_best_expect(law, &shape, job->seed, draws, out);
    return true;
}

// ---- shapes

static bool is(const struct rb_job *job, const char *tuner)
{
    return strcmp(job->scheduler.type, tuner) == 0;
}

static bool same_shape(const struct rb_search_choice *a, const struct rb_search_choice *b)
{
    return a->eta == b->eta && a->min_resource == b->min_resource && a->brackets == b->brackets;
}

static void add_shape(struct choosing *c, const struct rb_search_choice *choice)
{
    for (int i = 0; i < c->n; i++)
        if (same_shape(&c->rows[i].choice, choice))
            return;
    if (c->n < MOST_SHAPES)
        c->rows[c->n++].choice = *choice;
}

static void add_brackets(struct choosing *c, int eta, int64_t r)
{
    const struct rb_scheduler *s = &c->job->scheduler;
    const int most = is(c->job, "hyperband") ? rb_scheduler_s_max(r, s->max_resource, eta) + 1 : 1;
    for (int b = most; b >= 1; b--)
        add_shape(c, &(struct rb_search_choice){eta, r, b, s->num_trials});
}

static void list_shapes(struct choosing *c, const struct rb_search_choice *start)
{
    const struct rb_scheduler *s = &c->job->scheduler;
    const struct rb_search_choice own = {s->eta, s->min_resource, s->brackets, s->num_trials};
    add_shape(c, start ? start : &own);
    add_shape(c, &own);
    for (int eta = 2; eta <= 4 && !is(c->job, "random"); eta++)
        for (int64_t r = s->max_resource / eta; r >= s->min_resource && r >= 1; r /= eta)
            add_brackets(c, eta, r);
    if (!is(c->job, "random"))
        add_brackets(c, s->eta, s->max_resource);
}

// ---- numbers of trials

// Units of training of the whole search.
static bool units_of(const struct rb_job *job, double *out, struct rb_err *err)
{
    struct rb_rung_table table;
    *out = 0;
    if (!rb_rungs_of_job(job, &table, err))
        return false;
    for (int i = 0; i < table.n; i++) {
        const struct rb_rung *r = &table.rungs[i];
        *out += (double)r->trials * (double)(r->resource_end - (job->starts_over ? 0 : r->resource_start));
    }
    return true;
}

static int between(double n)
{
    return n < 1 ? 1 : n > RB_LIMIT_TRIALS ? RB_LIMIT_TRIALS : (int)n;
}

// The number of trials with which a shape takes as many units as the best search so far.
static bool guess_trials(const struct choosing *c, const struct rb_choice_row *row, int *out, struct rb_err *err)
{
    struct rb_search_choice many = row->choice;
    struct rb_job job;
    double units;
    many.num_trials = 10000;
    job = rb_job_with_choice(c->job, &many);
    if (!units_of(&job, &units, err))
        return false;
    *out = c->units > 0 ? between(c->units / units * many.num_trials) : between(row->choice.num_trials);
    return true;
}

static bool ask(struct choosing *c, const struct rb_search_choice *choice, bool *out_fits, struct rb_estimate *estimate,
                struct rb_err *err)
{
    const struct rb_job job = rb_job_with_choice(c->job, choice);
    c->n_asked++;
    return c->afford->fits(c->afford->ctx, &job, out_fits, estimate, err);
}

static bool expect(const struct choosing *c, const struct rb_search_choice *choice, struct rb_best *out,
                   struct rb_err *err)
{
    const struct rb_job job = rb_job_with_choice(c->job, choice);
    return rb_job_expect(&job, c->law, COMPARED_DRAWS, out, err);
}

static bool is_over(struct choosing *c)
{
    c->cut |= c->afford->out_of_time && c->afford->out_of_time(c->afford->ctx);
    return c->cut;
}

// Finds the largest affordable number of trials. low fits, high does not; 0: not known yet.
static bool most_trials(struct choosing *c, struct rb_choice_row *row, int n, struct rb_err *err)
{
    double growth = GROWTH;
    int low = 0, high = 0;
    while (high == 0 || high - low > (low < EXACT ? 1 : low / EXACT)) {
        struct rb_estimate estimate;
        bool fits;
        row->choice.num_trials = n;
        if (!ask(c, &row->choice, &fits, &estimate, err))
            return false;
        if (fits) {
            low = n;
            row->estimate = estimate;
        } else
            high = n;
        if (low == RB_LIMIT_TRIALS || is_over(c))
            break;
        n = high == 0  ? between(ceil(low * growth))
            : low == 0 ? (int)fmin(high / growth, high - 1)
                       : low + (high - low) / 2;
        growth = fmin(growth * growth, MOST_GROWTH);
        if (n == 0)
            break;
    }
    row->choice.num_trials = low;
    row->fits = low > 0;
    return true;
}

// ---- shape by shape

static bool take_if_better(struct choosing *c, int i, struct rb_err *err)
{
    struct rb_choice_row *row = &c->rows[i];
    const struct rb_job job = rb_job_with_choice(c->job, &row->choice);
    if (!expect(c, &row->choice, &row->best, err))
        return false;
    if (c->chosen >= 0 && row->best.z.mean <= c->rows[c->chosen].best.z.mean)
        return true;
    c->chosen = i;
    return units_of(&job, &c->units, err);
}

// Is it surely worse than the best so far? Then the row says how many trials are not affordable.
static bool is_beaten(struct choosing *c, struct rb_choice_row *row, int guess, bool *out, struct rb_err *err)
{
    struct rb_estimate ignored;
    bool fits;
    *out = false;
    if (c->chosen < 0)
        return true;
    row->choice.num_trials = between(ceil(SURELY_MORE * guess));
    if (!expect(c, &row->choice, &row->best, err))
        return false;
    if (row->best.z.mean > c->rows[c->chosen].best.z.mean)
        return true;
    if (!ask(c, &row->choice, &fits, &ignored, err))
        return false;
    *out = !fits;
    return true;
}

static bool try_fixed(struct choosing *c, int i, struct rb_err *err)
{
    struct rb_choice_row *row = &c->rows[i];
    if (!expect(c, &row->choice, &row->best, err))
        return false;
    if (c->chosen >= 0 && row->best.z.mean <= c->rows[c->chosen].best.z.mean)
        return true;
    return ask(c, &row->choice, &row->fits, &row->estimate, err) && (!row->fits || take_if_better(c, i, err));
}

static bool try_shape(struct choosing *c, int i, struct rb_err *err)
{
    struct rb_choice_row *row = &c->rows[i];
    bool beaten;
    int guess;
    if (is(c->job, "hyperband"))
        return try_fixed(c, i, err);
    return guess_trials(c, row, &guess, err) && is_beaten(c, row, guess, &beaten, err) &&
           (beaten || (most_trials(c, row, guess, err) && (!row->fits || take_if_better(c, i, err))));
}

bool rb_choose_search(const struct rb_job *job, const struct rb_quality_law *law, const struct rb_affordable *afford,
                      const struct rb_search_choice *start, struct rb_arena *arena, struct rb_search_choices *out,
                      struct rb_err *err)
{
    struct choosing *c = rb_arena_alloc(arena, sizeof *c);
    struct rb_search_shape ignored;
    if (!rb_search_shape_of(job, &ignored, err))
        return false;
    *c = (struct choosing){.job = job, .law = law, .afford = afford, .chosen = -1};
    list_shapes(c, start);
    for (int i = 0; i < c->n && (i == 0 || !is_over(c)); i++)
        if (!try_shape(c, i, err))
            return false;
    *out = (struct rb_search_choices){c->rows, c->n, c->chosen, c->n_asked, c->cut};
    return true;
}
