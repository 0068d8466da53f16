// Random search: every configuration is the trial's own draw from the declared distributions.
#include "samplers/samplers.h"

static bool random_create(const struct rb_sampler_setup *setup, const double *options, void **out_state,
                          struct rb_err *err)
{
    (void)setup;
    (void)options;
    (void)err;
    *out_state = NULL;
    return true;
}

static void random_destroy(void *state)
{
    (void)state;
}

static void random_propose(void *state, const struct rb_history *history, const struct rb_ask *ask,
                           struct rb_arena *arena, struct rb_proposal *out)
{
    (void)state;
    (void)history;
    (void)ask;
    (void)arena;
    out->is_prior_draw = true;
    out->reason = "a draw from the declared distributions";
}

const struct rb_sampler rb_sampler_random = {
    .name = "random",
    .summary = "independent draws from the declared distributions",
    .create = random_create,
    .destroy = random_destroy,
    .propose = random_propose,
};
