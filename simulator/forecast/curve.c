#include "simulator/forecast/curve.h"

#include "base/stream.h"

#include <math.h>

static struct rb_stream stream_of(uint64_t seed, uint32_t replicate, int trial, uint32_t stage, uint32_t attempt)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed,
                                               .purpose = RB_DRAW_CURVE,
                                               .stage = stage,
                                               .index = (uint32_t)trial,
                                               .attempt = attempt,
                                               .replicate = replicate});
    return s;
}

// The noise of one report has its own key: the resource, over the two fields that a curve does not need. Stage 0 is the
// curve itself.
static double report_noise(double sd, uint64_t seed, uint32_t replicate, int trial, int64_t resource)
{
    struct rb_stream s =
        stream_of(seed, replicate, trial, 1 + (uint32_t)(resource >> 16), (uint32_t)(resource & 0xffff));
    // Box-Muller; only the absolute value of the normal is needed.
    const double radius = sqrt(-2 * log(rb_stream_uniform(&s)));
    return sd * radius * fabs(cos(2 * M_PI * rb_stream_uniform(&s)));
}

const struct rb_curve_family rb_curve_family_default = {.b0 = 0.1, .b1 = 0.1, .b2 = 0.01, .noise = 0.005};

double rb_family_curve(const struct rb_curve_family *family, uint64_t seed, uint32_t replicate, enum rb_goal goal,
                       int trial, int64_t resource)
{
    struct rb_stream s = stream_of(seed, replicate, trial, 0, 0);
    const double b0 = -family->b0 * log1p(-rb_stream_uniform(&s));
    const double b1 = rb_stream_uniform(&s), b2 = rb_stream_uniform(&s);
    const double loss = 1 / (b0 * (double)resource / 100 + family->b1 * b1 + 0.5) + family->b2 * b2 +
                        report_noise(family->noise, seed, replicate, trial, resource);
    return goal == RB_GOAL_MAXIMIZE ? (2 - loss) / 2 : loss;
}

double rb_synthetic_curve(uint64_t seed, uint32_t replicate, enum rb_goal goal, int trial, int64_t resource)
{
    return rb_family_curve(&rb_curve_family_default, seed, replicate, goal, trial, resource);
}
