// Draws configurations and enumerates grids. A draw depends only on (seed, parameter's position, trial).
#include "profiles/space/space.h"

#include "base/stream.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

static struct rb_value int_value(int64_t v)
{
    return (struct rb_value){.kind = RB_VALUE_INT, .integer = v, .number = (double)v};
}

static struct rb_value float_value(double v)
{
    return (struct rb_value){.kind = RB_VALUE_FLOAT, .number = v};
}

// --- lattices: parameters with countably many values ---

// Steps of q from min that stay within max. The quotient of decimals such as 0.3 / 0.1 falls short of 3 by
// rounding.
static int64_t n_steps(const struct rb_param *p)
{
    if (p->whole)
        return ((int64_t)p->max - (int64_t)p->min) / (int64_t)p->q + 1;
    return (int64_t)floor((p->max - p->min) / p->q * (1 + 1e-12)) + 1;
}

static struct rb_value step_value(const struct rb_param *p, int64_t step)
{
    if (p->whole)
        return int_value((int64_t)p->min + step * (int64_t)p->q);
    return float_value(fmin(p->min + (double)step * p->q, p->max));
}

// Number of values, 0 if continuous.
static int64_t n_points(const struct rb_param *p)
{
    switch (p->kind) {
    case RB_PARAM_CONSTANT:
        return 1;
    case RB_PARAM_CHOICE:
        return p->n_values;
    case RB_PARAM_INT_UNIFORM:
        return (int64_t)p->max - (int64_t)p->min + 1;
    case RB_PARAM_Q_UNIFORM:
        return n_steps(p);
    case RB_PARAM_UNIFORM:
    case RB_PARAM_LOG_UNIFORM:
    case RB_PARAM_NORMAL:
    case RB_PARAM_LOG_NORMAL:
        break;
    }
    return 0;
}

static struct rb_value point_value(const struct rb_param *p, int64_t point)
{
    if (p->kind == RB_PARAM_INT_UNIFORM)
        return int_value((int64_t)p->min + point);
    if (p->kind == RB_PARAM_Q_UNIFORM)
        return step_value(p, point);
    return p->values[point];
}

// --- random draws ---

// Values of probability 0 are never drawn, not even where the probabilities sum to a little less than 1.
static int draw_choice(const struct rb_param *p, double u)
{
    double below = 0;
    int last = 0;
    for (int i = 0; i < p->n_values; i++) {
        if (!(p->probabilities[i] > 0))
            continue;
        last = i;
        below += p->probabilities[i];
        if (u < below)
            return i;
    }
    return last;
}

static double within(double v, double min, double max)
{
    return fmax(min, fmin(max, v));
}

static struct rb_value draw_continuous(const struct rb_param *p, double u)
{
    switch (p->kind) {
    case RB_PARAM_UNIFORM:
        return float_value(within(p->min + u * (p->max - p->min), p->min, p->max));
    case RB_PARAM_LOG_UNIFORM:
        return float_value(within(exp(log(p->min) + u * (log(p->max) - log(p->min))), p->min, p->max));
    case RB_PARAM_NORMAL:
        return float_value(p->mu + p->sigma * gsl_cdf_ugaussian_Pinv(u));
    default:
        assert(p->kind == RB_PARAM_LOG_NORMAL);
        return float_value(exp(p->mu + p->sigma * gsl_cdf_ugaussian_Pinv(u)));
    }
}

static struct rb_value draw(const struct rb_param *p, struct rb_stream *s)
{
    const int64_t n = n_points(p);
    if (n == 0)
        return draw_continuous(p, rb_stream_uniform(s));
    if (p->probabilities)
        return p->values[draw_choice(p, rb_stream_uniform(s))];
    return point_value(p, (int64_t)rb_stream_below(s, (uint64_t)n));
}

bool rb_space_applies(const struct rb_space *space, const struct rb_value *values, int param)
{
    const struct rb_param *p = &space->params[param];
    if (p->n_parent_values == 0)
        return true;
    const struct rb_param *parent = &space->params[p->parent];
    const struct rb_value *value = &values[p->parent];
    for (int i = 0; i < p->n_parent_values; i++)
        if (rb_value_equal(value, &parent->values[p->parent_values[i]]))
            return true;
    return false;
}

// Parents come before their children, so an absent parent, which equals no value, makes its children absent, too.
static void drop_absent(const struct rb_space *space, struct rb_value *values)
{
    for (int i = 0; i < space->n_params; i++)
        if (!rb_space_applies(space, values, i))
            values[i] = (struct rb_value){.kind = RB_VALUE_ABSENT};
}

void rb_space_sample(const struct rb_space *space, uint64_t seed, uint32_t trial, struct rb_value *out_values)
{
    for (int i = 0; i < space->n_params; i++) {
        const struct rb_stream_key key = {
            .seed = seed, .purpose = RB_DRAW_PARAMETER, .stage = (uint32_t)i, .index = trial};
        struct rb_stream s;
        rb_stream_init(&s, &key);
        out_values[i] = draw(&space->params[i], &s);
    }
    drop_absent(space, out_values);
}

// --- grids ---

bool rb_space_grid_size(const struct rb_space *space, int64_t *out_n, struct rb_err *err)
{
    int64_t total = 1;
    for (int i = 0; i < space->n_params; i++) {
        const int64_t n = n_points(&space->params[i]);
        if (n == 0)
            return rb_err_set(
                err, RB_E_GRID,
                "parameters.%s is continuous and has no grid; give it `values`, whole bounds or a step `q`",
                space->params[i].name);
        if (space->params[i].n_parent_values > 0)
            return rb_err_set(err, RB_E_GRID,
                              "parameters.%s applies only under its `if`, and a grid has every combination; remove the "
                              "`if`, or choose another scheduler",
                              space->params[i].name);
        if (__builtin_mul_overflow(total, n, &total))
            return rb_err_set(err, RB_E_GRID, "the grid has more than 9e18 points; give fewer values per parameter");
    }
    *out_n = total;
    return true;
}

// The last parameter varies fastest, as nested loops written in file order would.
void rb_space_grid_point(const struct rb_space *space, int64_t point, struct rb_value *out_values)
{
    for (int i = space->n_params - 1; i >= 0; i--) {
        const int64_t n = n_points(&space->params[i]);
        assert(n > 0);
        out_values[i] = point_value(&space->params[i], point % n);
        point /= n;
    }
    assert(point == 0);
}

// --- the values of a trial ---

const struct rb_value *rb_values_copy(const struct rb_space *space, const struct rb_value *values, struct rb_arena *arena)
{
    if (!values)
        return NULL;
    struct rb_value *copy = rb_arena_array(arena, (size_t)space->n_params + 1, sizeof *copy);
    for (int i = 0; i < space->n_params; i++) {
        copy[i] = values[i];
        if (values[i].kind == RB_VALUE_STRING)
            copy[i].string = rb_arena_strdup(arena, values[i].string);
    }
    return copy;
}

bool rb_value_equal(const struct rb_value *a, const struct rb_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case RB_VALUE_INT:
        return a->integer == b->integer;
    case RB_VALUE_FLOAT:
        return !(a->number < b->number) && !(a->number > b->number);
    case RB_VALUE_STRING:
        return strcmp(a->string, b->string) == 0;
    case RB_VALUE_BOOL:
        return a->boolean == b->boolean;
    case RB_VALUE_ABSENT:
        break;
    }
    return false;
}

bool rb_values_same(const struct rb_space *space, const struct rb_value *a, const struct rb_value *b)
{
    for (int i = 0; i < space->n_params; i++)
        if (a[i].kind != b[i].kind || (a[i].kind != RB_VALUE_ABSENT && !rb_value_equal(&a[i], &b[i])))
            return false;
    return true;
}

void rb_value_text(const struct rb_value *v, struct rb_buf *out)
{
    if (v->kind == RB_VALUE_STRING) {
        rb_buf_puts(out, v->string);
        return;
    }
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_value_json(v, &j);
}

// Words of these characters have no special meaning in any shell.
static bool is_plain(const char *word)
{
    return word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=.,/:@%")] == '\0';
}

static void add_argument(const struct rb_param *p, const struct rb_value *v, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf word = RB_BUF_INIT;
    if (v->kind == RB_VALUE_ABSENT || (p->is_flag && !v->boolean))
        return;
    rb_buf_printf(&word, p->is_flag ? "--%s" : "--%s=", p->name);
    if (!p->is_flag)
        rb_value_text(v, &word);
    if (out->len > 0)
        rb_buf_putc(out, ' ');
    if (is_plain(rb_buf_str(&word)))
        rb_buf_puts(out, rb_buf_str(&word));
    else
        rb_buf_shell_quote(out, rb_buf_str(&word));
}

void rb_space_args(const struct rb_space *space, const struct rb_value *values, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf args = RB_BUF_INIT;
    for (int i = 0; i < space->n_params; i++)
        add_argument(&space->params[i], &values[i], &args);
    rb_buf_append(out, rb_buf_str(&args), args.len);
}

void rb_space_json(const struct rb_space *space, const struct rb_value *values, struct rb_json *j)
{
    rb_json_begin_object(j);
    for (int i = 0; i < space->n_params; i++) {
        if (values[i].kind == RB_VALUE_ABSENT)
            continue;
        rb_json_key(j, space->params[i].name);
        rb_value_json(&values[i], j);
    }
    rb_json_end_object(j);
}
