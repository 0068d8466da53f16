#include "samplers/draws.h"

#include "samplers/model/normal.h"

void rb_draws_init(struct rb_stream *s, uint64_t seed, enum rb_draws_for use, uint32_t index)
{
    const struct rb_stream_key key = {
        .seed = seed, .purpose = RB_DRAW_SUGGESTION, .stage = (uint32_t)use, .index = index};
    rb_stream_init(s, &key);
}

double rb_draws_normal(struct rb_stream *s)
{
    return rb_normal_quantile(rb_stream_uniform(s));
}

bool rb_draws_is_random_turn(uint64_t seed, int trial, int period)
{
    struct rb_stream s;
    rb_draws_init(&s, seed, RB_FOR_TURN, (uint32_t)(trial / period));
    return rb_stream_below(&s, (uint64_t)period) == (uint64_t)(trial % period);
}

void rb_draws_propose_random(struct rb_arena *arena, struct rb_proposal *out, const char *reason)
{
    out->is_prior_draw = true;
    out->origin = "random";
    out->reason = rb_arena_strdup(arena, reason);
}

bool rb_draws_propose_start(struct rb_quasi *q, const struct rb_sampler_setup *setup, const struct rb_history *h,
                            const struct rb_ask *ask, int least, struct rb_arena *arena, struct rb_proposal *out)
{
    const int n = rb_history_count_compared(h);
    if (n >= least)
        return false;
    rb_quasi_point(q, (uint32_t)ask->trial, out->u);
    rb_coordinates_settle(setup->coordinates, out->u);
    out->origin = "start";
    out->reason =
        rb_arena_printf(arena, "%d of %d results that the model needs; points that fill the space evenly", n, least);
    return true;
}
