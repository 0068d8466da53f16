#include "planner/questions/deadlines.h"

#include "planner/questions/marginal.h"

#include "base/text/units.h"

#include <math.h>

#define NARROW             0.1  // of the range, as a ratio: a stretch no longer than this is not split ...
#define FLAT               0.15 // ... nor one over which the least cost falls by no more
#define ROOM               0.01 // margin at both ends of it, so that unknown parts of estimates decide nothing there
#define MOST_BUT_LANDMARKS 32

static void list_landmarks(struct rb_deadlines *d, int64_t asked_us, int64_t tight_us)
{
    if (asked_us < tight_us)
        return;
    const int64_t step_us = rb_marginal_step_us(asked_us);
    d->landmarks_us[d->n_landmarks++] = asked_us;
    d->landmarks_us[d->n_landmarks++] = asked_us + step_us;
    if (asked_us - step_us >= tight_us)
        d->landmarks_us[d->n_landmarks++] = asked_us - step_us;
}

// The first deadline after a barely feasible one at which unknown parts of estimates decide nothing.
static int64_t with_room_us(int64_t kept_us)
{
    return rb_us_from_seconds(ceil((1 + ROOM) * (double)kept_us / 1e6));
}

static int64_t first_us(const struct rb_deadlines *d, int64_t tight_us)
{
    int64_t first = with_room_us(tight_us);
    for (int i = 0; i < d->n_landmarks; i++)
        first = d->landmarks_us[i] < first ? d->landmarks_us[i] : first;
    return first;
}

// The last landmark, if any, that the cheapest plan keeps with sufficient margin.
static int64_t last_us(const struct rb_deadlines *d, int64_t loose_us)
{
    int64_t last = 0;
    for (int i = 0; i < d->n_landmarks; i++) {
        if (d->landmarks_us[i] >= loose_us && d->landmarks_us[i] > last)
            last = d->landmarks_us[i];
    }
    if (last == 0)
        last = with_room_us(loose_us);
    return last > d->first_us ? last : d->first_us;
}

struct rb_deadlines rb_deadlines_of(int64_t asked_us, int64_t tight_us, int64_t loose_us)
{
    struct rb_deadlines d = {0};
    list_landmarks(&d, asked_us, tight_us);
    d.first_us = first_us(&d, tight_us);
    d.last_us = last_us(&d, loose_us);
    return d;
}

bool rb_deadlines_is_landmark(const struct rb_deadlines *d, int64_t deadline_us)
{
    for (int i = 0; i < d->n_landmarks; i++) {
        if (d->landmarks_us[i] == deadline_us)
            return true;
    }
    return false;
}

// Between two deadlines the least cost lies between their costs: if these are close, there is nothing left to ask for.
static bool is_flat(const struct rb_deadlines_end *tighter, const struct rb_deadlines_end *looser)
{
    return tighter->least_uusd >= 0 && looser->least_uusd >= 0 &&
           (double)tighter->least_uusd <= (1 + FLAT) * (double)looser->least_uusd;
}

int64_t rb_deadlines_between(const struct rb_deadlines *d, const struct rb_deadlines_end *tighter,
                             const struct rb_deadlines_end *looser, int n)
{
    const int64_t low_us = tighter->deadline_us, high_us = looser->deadline_us;
    const double width = log((double)high_us / (double)low_us), range = log((double)d->last_us / (double)d->first_us);
    for (int i = 0; i < d->n_landmarks; i++) {
        if (d->landmarks_us[i] > low_us && d->landmarks_us[i] < high_us)
            return d->landmarks_us[i];
    }
    if (width <= NARROW * range || is_flat(tighter, looser) || n >= MOST_BUT_LANDMARKS)
        return -1;
    const int64_t middle = rb_us_from_seconds(ceil((double)low_us / 1e6 * exp(width / 2)));
    return middle < high_us ? middle : -1;
}
