#include "planner/questions/what_if_profile.h"

static bool scale(struct rb_dist *d, double factor, struct rb_arena *arena, struct rb_err *err)
{
    struct rb_dist scaled = *d;
    scaled.mean *= factor;
    if (d->n_values > 0) {
        double *values = rb_arena_array(arena, (size_t)d->n_values, sizeof *values);
        for (int i = 0; i < d->n_values; i++)
            values[i] = d->values[i] * factor;
        scaled.values = values;
    }
    if (!rb_dist_prepare(&scaled, err))
        return false;
    *d = scaled;
    return true;
}

static bool scale_provisioning(struct rb_profile *p, double factor, struct rb_arena *arena, struct rb_err *err)
{
    struct rb_provisioning *copy = rb_arena_array(arena, (size_t)p->n_provisioning, sizeof *copy);
    for (int i = 0; i < p->n_provisioning; i++) {
        copy[i] = p->provisioning[i];
        if (!scale(&copy[i].queue_s, factor, arena, err) || !scale(&copy[i].init_s, factor, arena, err))
            return false;
    }
    p->provisioning = copy;
    return true;
}

// Speed-ups are ratios of times, and do not change.
static void scale_training(struct rb_profile *p, double factor, struct rb_arena *arena)
{
    struct rb_training *copy = rb_arena_array(arena, (size_t)p->n_training, sizeof *copy);
    for (int i = 0; i < p->n_training; i++) {
        copy[i] = p->training[i];
        copy[i].base_s *= factor;
    }
    p->training = copy;
}

bool rb_what_if_profile(const struct rb_profile *base, double provisioning_factor, double training_factor,
                        struct rb_arena *arena, struct rb_profile *out, struct rb_err *err)
{
    struct rb_profile p = *base;
    if (!scale_provisioning(&p, provisioning_factor, arena, err))
        return false;
    scale_training(&p, training_factor, arena);
    *out = p;
    return true;
}
