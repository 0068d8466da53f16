#include "planner/quality/choose.h"

#include "planner/quality/gain.h"

#include "engine/core/rungs.h"
#include "engine/tuners/brackets.h"
#include "profiles/job/job_scheduler.h"

#include <math.h>
#include <string.h>

#define MOST_DRAWS     2000   // to compare two searches; of very many trials ...
#define DRAWN_TRIALS   400000 // ... as many as draw this number of trials, ...
#define FEWEST_DRAWS   500    // ... but at least these
#define MOST_SHAPES    64
#define GROWTH         1.2 // of the number of trials, squared each time, until both sides of the affordable one are known
#define MOST_GROWTH    4
#define EXACT          32  // its error is at most one 32nd
#define SLOPE          0.4 // of the mean score in ln trials, about: to find how many would be as good
#define KNOWN_FROM     0.75 // of the law's first share
#define NEAR           0.03 // scores that are taken for equal
#define FAR_BEHIND     0.2

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

int rb_job_trials(const struct rb_job *job)
{
    struct rb_search_shape shape;
    return rb_search_shape_of(job, &shape, NULL) ? rb_search_shape_trials(&shape) : 0;
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

// The least min_resource: the law knows nothing of results long before its first share, and a choice would rest on that.
static int64_t least_resource(const struct choosing *c)
{
    const struct rb_scheduler *s = &c->job->scheduler;
    const int64_t known = (int64_t)ceil(KNOWN_FROM * c->law->share[0] * (double)s->max_resource);
    return s->min_resource > known ? s->min_resource : known < 1 ? 1 : known;
}

static void list_all(struct choosing *c)
{
    const struct rb_scheduler *s = &c->job->scheduler;
    const int64_t least = least_resource(c);
    add_shape(c, &(struct rb_search_choice){s->eta, s->min_resource < least ? least : s->min_resource,
                                            is(c->job, "hyperband") ? 1 : s->brackets, s->num_trials});
    if (is(c->job, "random"))
        return;
    for (int eta = 2; eta <= 4; eta++) {
        add_brackets(c, eta, least);
        for (int64_t r = s->max_resource / eta; r >= least; r /= eta)
            add_brackets(c, eta, r);
    }
    add_brackets(c, s->eta, s->max_resource);
}

static void list_near(struct choosing *c, const struct rb_search_choices *before)
{
    add_shape(c, &before->rows[before->chosen].choice);
    for (int i = 0; i < before->n; i++)
        if (before->rows[i].fits || before->rows[i].behind < FAR_BEHIND)
            add_shape(c, &before->rows[i].choice);
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
    const int draws = choice->num_trials > 0 ? DRAWN_TRIALS / choice->num_trials : MOST_DRAWS;
    return rb_job_expect(&job, c->law, draws < FEWEST_DRAWS ? FEWEST_DRAWS : draws > MOST_DRAWS ? MOST_DRAWS : draws,
                         out, err);
}

static bool is_over(struct choosing *c)
{
    c->cut |= c->afford->out_of_time && c->afford->out_of_time(c->afford->ctx);
    return c->cut;
}

// Finds the largest affordable number of trials, from n on. low fits (0: not known yet; else the row has its
// estimate), high does not.
static bool most_trials(struct choosing *c, struct rb_choice_row *row, int low, int n, struct rb_err *err)
{
    double growth = GROWTH;
    int high = 0;
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

// How many trials would make it as good as the best so far?
static bool as_many(struct choosing *c, struct rb_choice_row *row, int guess, struct rb_err *err)
{
    const double best = c->rows[c->chosen].best.z.mean;
    double n = guess;
    for (int i = 0; i < 3; i++) {
        row->choice.num_trials = between(n);
        if (!expect(c, &row->choice, &row->best, err))
            return false;
        const double behind = best - row->best.z.mean;
        if (i == 0)
            row->behind = behind;
        if (fabs(behind) < NEAR)
            break;
        n = fmin(n * exp(behind / SLOPE), RB_LIMIT_TRIALS);
    }
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

static bool try_first(struct choosing *c, int i, int guess, struct rb_err *err)
{
    struct rb_choice_row *row = &c->rows[i];
    return most_trials(c, row, 0, guess, err) && (!row->fits || take_if_better(c, i, err));
}

static bool try_next(struct choosing *c, int i, int guess, struct rb_err *err)
{
    struct rb_choice_row *row = &c->rows[i];
    if (!as_many(c, row, guess, err) || !ask(c, &row->choice, &row->fits, &row->estimate, err))
        return false;
    const int n = row->choice.num_trials;
    return !row->fits || (most_trials(c, row, n, between(ceil(n * GROWTH)), err) && take_if_better(c, i, err));
}

static bool try_shape(struct choosing *c, int i, struct rb_err *err)
{
    int guess;
    if (is(c->job, "hyperband"))
        return try_fixed(c, i, err);
    return guess_trials(c, &c->rows[i], &guess, err) && (c->chosen < 0 ? try_first : try_next)(c, i, guess, err);
}

bool rb_choose_search(const struct rb_job *job, const struct rb_quality_law *law, const struct rb_affordable *afford,
                      const struct rb_search_choices *before, struct rb_arena *arena, struct rb_search_choices *out,
                      struct rb_err *err)
{
    struct choosing *c = rb_arena_alloc(arena, sizeof *c);
    struct rb_search_shape ignored;
    if (!rb_search_shape_of(job, &ignored, err))
        return false;
    *c = (struct choosing){.job = job, .law = law, .afford = afford, .chosen = -1};
    if (before)
        list_near(c, before);
    else
        list_all(c);
    int n_tried = 0;
    for (; n_tried < c->n && (n_tried == 0 || !is_over(c)); n_tried++)
        if (!try_shape(c, n_tried, err))
            return false;
    *out = (struct rb_search_choices){c->rows, n_tried, c->chosen, c->n_asked, c->cut};
    return true;
}
