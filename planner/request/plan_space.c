#include "planner/request/plan_space.h"

#include "planner/scores/on_time.h"

#include <stdlib.h>

// Transforms on one set of frequencies.
struct window {
    struct rb_on_time *on_time;
    struct window *next;
};

struct rb_plan_space {
    bool has_lattice, has_options;
    double confidence; // of both
    struct rb_lattice lattice;
    struct rb_options options;
    struct window *windows;
};

struct rb_plan_space *rb_plan_space_create(void)
{
    return rb_xcalloc(1, sizeof(struct rb_plan_space));
}

void rb_plan_space_destroy(struct rb_plan_space *space)
{
    if (!space)
        return;
    if (space->has_lattice)
        rb_lattice_finish(&space->lattice);
    if (space->has_options)
        rb_options_finish(&space->options);
    for (struct window *w = space->windows, *next; w; w = next) {
        next = w->next;
        rb_on_time_destroy(w->on_time);
        free(w);
    }
    free(space);
}

// Bounds and tables are made for one confidence.
static bool is_for(const struct rb_plan_space *space, const struct rb_search *search)
{
    return !(space->confidence < search->req->confidence) && !(space->confidence > search->req->confidence);
}

// A lattice that has sampled as much as one question may has left choices out that the next one can ask for.
static bool is_worth_keeping(const struct rb_search *search, const struct rb_lattice *l)
{
    return search->asked_again && !search->space->has_lattice && l->n_sampled < l->most_sampled;
}

bool rb_plan_space_take_lattice(struct rb_search *search, double accuracy, struct rb_lattice *out, struct rb_err *err)
{
    struct rb_plan_space *space = search->space;
    const bool fits = space->has_lattice && is_for(space, search) && space->lattice.accuracy <= accuracy;
    if (!fits)
        return rb_lattice_init(out, search, accuracy, err);
    *out = space->lattice;
    out->n_sampled = 0;
    space->has_lattice = false;
    return true;
}

void rb_plan_space_give_lattice(struct rb_search *search, struct rb_lattice *lattice)
{
    struct rb_plan_space *space = search->space;
    if (!is_worth_keeping(search, lattice)) {
        rb_lattice_finish(lattice);
        return;
    }
    space->lattice = *lattice;
    space->confidence = search->req->confidence;
    space->has_lattice = true;
}

bool rb_plan_space_take_options(struct rb_search *search, struct rb_options *out, struct rb_err *err)
{
    struct rb_plan_space *space = search->space;
    if (!space->has_options || !is_for(space, search))
        return rb_options_init(out, search, err);
    *out = space->options;
    space->has_options = false;
    return true;
}

void rb_plan_space_give_options(struct rb_search *search, struct rb_options *options)
{
    struct rb_plan_space *space = search->space;
    if (!search->asked_again || space->has_options) {
        rb_options_finish(options);
        return;
    }
    space->options = *options;
    space->confidence = search->req->confidence;
    space->has_options = true;
}

// --- windows

// The narrowest that a deadline fits in and that is less than twice as wide: the frequencies of a wider one are too many.
static struct rb_on_time *find_window(const struct rb_plan_space *space, double deadline_s)
{
    struct rb_on_time *narrowest = NULL;
    double least_s = 2 * deadline_s;
    for (const struct window *w = space->windows; w; w = w->next) {
        const double window_s = rb_on_time_window_s(w->on_time);
        if (window_s >= deadline_s && window_s < least_s) {
            narrowest = w->on_time;
            least_s = window_s;
        }
    }
    return narrowest;
}

struct rb_on_time *rb_plan_space_on_time(struct rb_plan_space *space, double deadline_s, double deviation_s)
{
    struct rb_on_time *on_time = find_window(space, deadline_s);
    if (!on_time) {
        struct window *w = rb_xcalloc(1, sizeof *w);
        w->on_time = on_time = rb_on_time_create(deadline_s, deviation_s);
        w->next = space->windows;
        space->windows = w;
    }
    rb_on_time_set_deadline(on_time, deadline_s);
    return on_time;
}

size_t rb_plan_space_bytes(const struct rb_plan_space *space)
{
    size_t bytes = 0;
    for (const struct window *w = space->windows; w; w = w->next)
        bytes += rb_on_time_bytes(w->on_time);
    return bytes;
}
