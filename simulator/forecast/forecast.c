#include "simulator/forecast/forecast.h"

#include "simulator/forecast/forecast_outlook.h"
#include "simulator/forecast/forecast_pool.h"

#include <math.h>
#include <stdlib.h>

// The choice is evaluated over a window: at its end the best trial takes all the GPUs it can use, until the deadline.
static const double windows[] = {1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 2, 1};
enum { WINDOWS = sizeof windows / sizeof windows[0] };

// When nodes may be requested, as fractions of the remaining time: the later, the more of them the budget pays for.
static const double purchases[] = {0, 1.0 / 4, 1.0 / 2};
enum { PURCHASES = sizeof purchases / sizeof purchases[0] };

// A choice that raises the expected best score by less, in standard deviations of one report, is not worth restarts or
// money.
#define LEAST_GAIN 0.1

struct forecast {
    const struct rb_forecaster *f;
    struct rb_outlook outlook;
    struct rb_choice *choice;      // scratch
    struct rb_prospect *newcomers; // scratch
    struct rb_chosen best;
    double stay; // expected best score if nothing is changed
};

// ---- sizes

// The best choice over all windows, and the best value of leaving everything unchanged.
static struct rb_chosen choose(struct forecast *f, double *out_stay)
{
    struct rb_chosen chosen, best = {.value = -INFINITY};
    *out_stay = -INFINITY;
    for (int w = 0; w < WINDOWS; w++) {
        rb_outlook_pose(&f->outlook, windows[w] * f->outlook.left_us, f->newcomers, f->choice);
        rb_choose(f->choice, &chosen);
        *out_stay = fmax(*out_stay, chosen.value_now);
        if (chosen.value > best.value)
            best = chosen;
    }
    return best;
}

static int by_trial(const void *pa, const void *pb)
{
    const struct rb_advised_trial *a = pa, *b = pb;
    return (a->trial > b->trial) - (a->trial < b->trial);
}

static void advise_trials(const struct forecast *f, struct rb_arena *arena, struct rb_advice *out)
{
    const struct rb_outlook *o = &f->outlook;
    struct rb_advised_trial *list = rb_arena_array(arena, (size_t)o->n_trials + 1, sizeof *list);
    int n = 0;
    for (int i = 0; i < o->n_trials; i++) {
        const int gpus = o->sizes[f->best.size[i]];
        if (gpus != rb_engine_trial(o->e, o->trials[i])->next_gpus)
            list[n++] = (struct rb_advised_trial){.trial = o->trials[i], .gpus = gpus};
    }
    qsort(list, (size_t)n, sizeof *list, by_trial);
    out->trials = list;
    out->n_trials = n;
}

// ---- the pool

static double value_of_pool(struct forecast *f, const struct rb_pool *p, int n_nodes, double wait_us)
{
    double stay;
    rb_outlook_resize(&f->outlook, n_nodes * p->gpus_per_node, wait_us + p->boot_us);
    return choose(f, &stay).value;
}

// The number of nodes to own from now on, -1: unchanged. Nodes are requested now only if requesting more of them later
// is no better.
static int choose_pool(struct forecast *f)
{
    const struct rb_scenario *s = f->f->scenario;
    const struct rb_engine *e = f->outlook.e;
    const int n_gpus = f->outlook.n_gpus;
    struct rb_pool p;
    double best = f->best.value + LEAST_GAIN * rb_curve_noise(f->outlook.curves);
    int buy = -1;
    if (!rb_pool_look(s, f->f->plan, e, &p) || n_gpus < p.n_owned * p.gpus_per_node)
        return -1; // the last requested nodes are not ready yet
    for (int i = 0; i < PURCHASES; i++) {
        const double wait_us = purchases[i] * f->outlook.left_us;
        const int n = rb_pool_affordable(&p, s, f->f->plan, e, rb_engine_now_us(e) + (int64_t)wait_us);
        const double value = n > p.n_owned ? value_of_pool(f, &p, n, wait_us) : -INFINITY;
        if (value > best) {
            best = value;
            buy = i == 0 ? n : -1;
        }
    }
    rb_outlook_resize(&f->outlook, n_gpus, 0);
    return buy;
}

// ---- the adviser

bool rb_forecast(void *ctx, const struct rb_engine *e, struct rb_arena *arena, struct rb_advice *out)
{
    struct forecast f = {.f = ctx};
    if (!rb_outlook_look(f.f->plan, e, arena, &f.outlook))
        return false;
    f.choice = rb_arena_array(arena, 1, sizeof *f.choice);
    f.newcomers = rb_arena_array(arena, RB_OUTLOOK_NEWCOMERS, sizeof *f.newcomers);
    f.best = choose(&f, &f.stay);
    struct rb_advice advice = {.pool_nodes = -1, .admit = f.best.newcomers || f.outlook.n_trials == 0};
    if (f.best.value > f.stay + LEAST_GAIN * rb_curve_noise(f.outlook.curves))
        advise_trials(&f, arena, &advice);
    advice.pool_nodes = choose_pool(&f);
    *out = advice;
    return true;
}
