#include "planner/request/plan_space.h"

#include <stdlib.h>

struct rb_plan_space {
    bool has_options;
    double confidence; // of theirs
    struct rb_options options;
};

struct rb_plan_space *rb_plan_space_create(void)
{
    return rb_xcalloc(1, sizeof(struct rb_plan_space));
}

void rb_plan_space_destroy(struct rb_plan_space *space)
{
    if (!space)
        return;
    if (space->has_options)
        rb_options_finish(&space->options);
    free(space);
}

// Tables are made for one confidence.
static bool is_for(const struct rb_plan_space *space, const struct rb_search *search)
{
    return space->confidence >= rb_search_confidence(search) && space->confidence <= rb_search_confidence(search);
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
    if (!search->asked_again || space->has_options || options->cut) {
        rb_options_finish(options);
        return;
    }
    space->options = *options;
    space->confidence = rb_search_confidence(search);
    space->has_options = true;
}
