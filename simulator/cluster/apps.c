#include "simulator/cluster/apps_between.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

void rb_apps_finish(struct rb_apps *apps)
{
    rb_arena_finish(&apps->arena);
    *apps = (struct rb_apps){0};
}

const struct rb_app *rb_apps_find(const struct rb_apps *apps, const char *name)
{
    for (int i = 0; i < apps->n; i++) {
        if (strcmp(apps->apps[i].name, name) == 0)
            return &apps->apps[i];
    }
    return NULL;
}

struct rb_batch_limits rb_app_limits(const struct rb_app *app)
{
    return (struct rb_batch_limits){app->init_batch, app->max_batch, app->min_local_batch, app->max_local_batch};
}

// Integer quotients come out as integers, whatever the last bit.
static int round_up(double x)
{
    return (int)ceil(x - 1e-8);
}

struct rb_batch rb_app_cut(const struct rb_app *app, int batch, int gpus, bool accumulates)
{
    const struct rb_batch_limits limits = rb_app_limits(app);
    const int share = round_up((double)batch / gpus);
    struct rb_batch b = {.accumulation = round_up((double)share / app->max_local_batch) - 1};
    if (accumulates && b.accumulation < 1)
        b.accumulation = 1;
    b.per_gpu = round_up((double)share / (b.accumulation + 1));
    return rb_batch_within(&limits, gpus, b);
}

// ---- iterations

#define MOST_DIGITS 9 // of an int

// The smallest of the rotations as a number with one digit per node; -1: too many nodes or GPUs for digits.
static int canonical_placement(const int *gpus, int n)
{
    if (n > MOST_DIGITS)
        return -1;
    int least = -1;
    for (int first = 0; first < n; first++) {
        int number = 0;
        for (int i = 0; i < n; i++) {
            const int on_node = gpus[(first + i) % n];
            if (on_node > 9)
                return -1;
            number = 10 * number + on_node;
        }
        least = least < 0 || number < least ? number : least;
    }
    return least;
}

static const struct rb_app_times *find_placement(const struct rb_app *app, int placement)
{
    int low = 0, high = app->n_placements;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (app->placements[middle] < placement)
            low = middle + 1;
        else
            high = middle;
    }
    return low < app->n_placements && app->placements[low] == placement ? &app->placement_times[low] : NULL;
}

struct rb_app_layout rb_app_layout(const struct rb_app *app, const int *gpus, int n)
{
    const int placement = canonical_placement(gpus, n);
    struct rb_app_layout layout = {.nodes = n < RB_APP_MAX_NODES ? n : RB_APP_MAX_NODES};
    for (int i = 0; i < n; i++)
        layout.gpus += gpus[i];
    layout.measured = placement < 0 ? NULL : find_placement(app, placement);
    return layout;
}

// The last batch size but one that is not above; its successor is the other end of the interval.
static int find_piece(const struct rb_app_times *t, int local_batch)
{
    int low = 0, high = t->n - 1; // piece in low..high-1
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (t->local_batch[middle] <= local_batch)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool interpolate(const struct rb_app_times *t, int local_batch, struct rb_app_step *out)
{
    if (t->n == 0 || local_batch < t->local_batch[0] || local_batch > t->local_batch[t->n - 1])
        return false;
    const int i = t->n == 1 ? 0 : find_piece(t, local_batch);
    const struct rb_app_step low = t->steps[i];
    *out = low;
    if (local_batch == t->local_batch[i])
        return true;
    const struct rb_app_step high = t->steps[i + 1];
    const double width = t->local_batch[i + 1] - t->local_batch[i], part = local_batch - t->local_batch[i];
    out->step_s = (high.step_s - low.step_s) / width * part + low.step_s;
    out->sync_s = (high.sync_s - low.sync_s) / width * part + low.sync_s;
    return true;
}

bool rb_app_step(const struct rb_app *app, const struct rb_app_layout *layout, int local_batch, struct rb_app_step *out)
{
    if (layout->measured)
        return interpolate(layout->measured, local_batch, out);
    if (layout->gpus > RB_APP_MAX_GPUS)
        return false;
    return app->between ? rb_app_between_step(app->between, layout->nodes, layout->gpus, local_batch, out)
                        : interpolate(&app->grid[layout->nodes][layout->gpus], local_batch, out);
}

// ---- training

// The two measured batch sizes around one, and its relative position from the lower to the upper.
struct between {
    const struct rb_app_training *low, *high;
    double part;
};

static struct between around(const struct rb_app *app, int batch)
{
    const struct rb_app_training *low = &app->trainings[0], *high = low + app->n_trainings - 1;
    if (batch <= low->batch)
        return (struct between){low, low, 0};
    if (batch >= high->batch)
        return (struct between){high, high, 0};
    while (low[1].batch <= batch)
        low++;
    high = low + 1;
    return (struct between){low, high, (double)(batch - low->batch) / (high->batch - low->batch)};
}

static double blend(double low, double high, double part)
{
    return low + (high - low) * part;
}

struct rb_grad_noise rb_app_noise(const struct rb_app *app, int batch, int epoch)
{
    assert(epoch >= 0 && epoch < app->n_epochs);
    const struct between b = around(app, batch);
    return (struct rb_grad_noise){.sqr = blend(b.low->grad_sqr[epoch], b.high->grad_sqr[epoch], b.part),
                                  .var = blend(b.low->grad_var[epoch], b.high->grad_var[epoch], b.part)};
}

double rb_app_iteration(const struct rb_app *app, int batch, int epoch)
{
    assert(epoch >= 0 && epoch < app->n_epochs);
    const struct between b = around(app, batch);
    return blend(b.low->iteration[epoch], b.high->iteration[epoch], b.part);
}
