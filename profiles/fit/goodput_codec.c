#include "profiles/fit/goodput_codec.h"

#include "profiles/job/keys.h"

#define MAX_SECONDS 1e6 // of one iteration
#define MAX_BATCH   1e9
#define MAX_NOISE   1e300 // squared lengths have no scale of their own; infinity is no measurement

bool rb_throughput_read(struct rb_map *m, struct rb_throughput *t, struct rb_err *err)
{
    return rb_map_need_double(m, "alpha_c", 0, MAX_SECONDS, &t->alpha_c, err) &&
           rb_map_need_double(m, "beta_c", 0, MAX_SECONDS, &t->beta_c, err) &&
           rb_map_need_double(m, "alpha_n", 0, MAX_SECONDS, &t->alpha_n, err) &&
           rb_map_need_double(m, "beta_n", 0, MAX_SECONDS, &t->beta_n, err) &&
           rb_map_need_double(m, "alpha_r", 0, MAX_SECONDS, &t->alpha_r, err) &&
           rb_map_need_double(m, "beta_r", 0, MAX_SECONDS, &t->beta_r, err) &&
           rb_map_need_double(m, "gamma", 1, 10, &t->gamma, err);
}

static bool read_steps(const struct rb_node *node, struct rb_training_goodput *g, struct rb_err *err)
{
    static const char *const keys[] = {"alpha_c", "beta_c", "alpha_n",     "beta_n", "alpha_r",
                                       "beta_r",  "gamma",  "max_per_gpu", NULL};
    struct rb_map m;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_throughput_read(&m, &g->steps, err) ||
        !rb_keys_count(&m, "max_per_gpu", 1, (int)MAX_BATCH, 0, &g->max_per_gpu, err))
        return false;
    g->has_steps = true;
    return rb_throughput_grad_s(&g->steps, 1) > 0 ||
           rb_node_refuse(node, err, RB_E_PROFILE_MODEL, "expected alpha_c or beta_c above 0: a step takes time");
}

static bool read_noise(struct rb_map *m, struct rb_training_goodput *g, struct rb_err *err)
{
    if (!rb_keys_given(m, "grad_sqr") && !rb_keys_given(m, "grad_var"))
        return true;
    g->has_noise = true;
    return rb_map_need_double(m, "grad_sqr", 0, MAX_NOISE, &g->noise.sqr, err) &&
           rb_map_need_double(m, "grad_var", 0, MAX_NOISE, &g->noise.var, err);
}

bool rb_training_goodput_read(const struct rb_node *node, struct rb_training_goodput *out, struct rb_err *err)
{
    static const char *const keys[] = {"batch", "grad_sqr", "grad_var", "steps", NULL};
    struct rb_training_goodput g = {0};
    struct rb_map m;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_map_need_double(&m, "batch", 1, MAX_BATCH, &g.batch, err) ||
        !read_noise(&m, &g, err))
        return false;
    const struct rb_node *steps = rb_keys_given(&m, "steps");
    if (steps && !read_steps(steps, &g, err))
        return false;
    if (!g.has_noise && !g.has_steps)
        return rb_node_refuse(node, err, RB_E_KEYS_TOGETHER, "expected grad_sqr with grad_var, or steps, or all three");
    *out = g;
    return true;
}

struct rb_grad_noise rb_training_goodput_noise(const struct rb_training_goodput *g, double batch)
{
    return (struct rb_grad_noise){.sqr = g->noise.sqr, .var = g->noise.var * g->batch / batch};
}

// --- writing ---

void rb_throughput_write(const struct rb_throughput *t, struct rb_json *j)
{
    rb_json_put(j, "alpha_c: %g beta_c: %g alpha_n: %g beta_n: %g alpha_r: %g beta_r: %g gamma: %g", t->alpha_c,
                t->beta_c, t->alpha_n, t->beta_n, t->alpha_r, t->beta_r, t->gamma);
}

void rb_training_goodput_write(const struct rb_training_goodput *g, struct rb_json *j)
{
    rb_json_put(j, "{batch: %g", g->batch);
    if (g->has_noise)
        rb_json_put(j, "grad_sqr: %g grad_var: %g", g->noise.sqr, g->noise.var);
    if (g->has_steps) {
        rb_json_kobject(j, "steps");
        rb_throughput_write(&g->steps, j);
        if (g->max_per_gpu > 0)
            rb_json_kint(j, "max_per_gpu", g->max_per_gpu);
        rb_json_end_object(j);
    }
    rb_json_end_object(j);
}
