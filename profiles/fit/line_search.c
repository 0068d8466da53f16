#include "profiles/fit/line_search.h"

#include <math.h>

// How far beyond the last step the next may lie while nothing is bracketed.
#define LEAST_STRETCH 1.1
#define MOST_STRETCH  4.0
#define NARROWING     0.66 // a bracket that shrinks by less in two steps is halved

void rb_line_search_init(struct rb_line_search *s, double value, double slope, double first_step, double max_step)
{
    *s = (struct rb_line_search){
        .start = {0, value, slope},
        .best = {0, value, slope},
        .other = {0, value, slope},
        .max_step = max_step,
        .high = first_step + MOST_STRETCH * first_step,
        .width = max_step,
        .width_before = 2 * max_step,
    };
}

static double max3(double a, double b, double c)
{
    return fmax(a, fmax(b, c));
}

// For the cubic through two points: root(...) is where its slope vanishes.
struct cubic {
    double theta, gamma;
};

static struct cubic cubic_of(const struct rb_line_point *a, const struct rb_line_point *b, bool clamped)
{
    const double theta = 3 * (a->value - b->value) / (b->step - a->step) + a->slope + b->slope;
    const double scale = max3(fabs(theta), fabs(a->slope), fabs(b->slope));
    const double square = (theta / scale) * (theta / scale) - (a->slope / scale) * (b->slope / scale);
    return (struct cubic){theta, scale * sqrt(clamped ? fmax(square, 0) : square)};
}

static double closer_to(double at, double a, double b)
{
    return fabs(a - at) < fabs(b - at) ? a : b;
}

static double farther_from(double at, double a, double b)
{
    return fabs(a - at) > fabs(b - at) ? a : b;
}

static double clamp(double x, double low, double high)
{
    return fmax(low, fmin(high, x));
}

// The value has risen: a minimum lies between. Takes the cubic's minimum, or half-way to the parabola's where that is
// closer to the best.
static double step_back(const struct rb_line_point *x, const struct rb_line_point *p)
{
    struct cubic c = cubic_of(x, p, false);
    c.gamma = p->step < x->step ? -c.gamma : c.gamma;
    const double r = ((c.gamma - x->slope) + c.theta) / (((c.gamma - x->slope) + c.gamma) + p->slope);
    const double cubic = x->step + r * (p->step - x->step);
    const double secant = (x->value - p->value) / (p->step - x->step) + x->slope;
    const double parabola = x->step + x->slope / secant / 2 * (p->step - x->step);
    return fabs(cubic - x->step) < fabs(parabola - x->step) ? cubic : cubic + (parabola - cubic) / 2;
}

// The slope has changed its sign: a minimum lies between. Takes the cubic's or the secant's, whichever is farther from
// the last step.
static double step_between(const struct rb_line_point *x, const struct rb_line_point *p)
{
    struct cubic c = cubic_of(x, p, false);
    c.gamma = p->step > x->step ? -c.gamma : c.gamma;
    const double r = ((c.gamma - p->slope) + c.theta) / (((c.gamma - p->slope) + c.gamma) + x->slope);
    const double cubic = p->step + r * (x->step - p->step);
    const double secant = p->step + p->slope / (p->slope - x->slope) * (x->step - p->step);
    return farther_from(p->step, cubic, secant);
}

// The slope is flatter: a minimum is ahead. Takes the cubic's if it has one in that direction.
static double step_ahead(const struct rb_line_search *s, const struct rb_line_point *p)
{
    const struct rb_line_point *x = &s->best;
    struct cubic c = cubic_of(x, p, true);
    c.gamma = p->step > x->step ? -c.gamma : c.gamma;
    const double r = ((c.gamma - p->slope) + c.theta) / ((c.gamma + (x->slope - p->slope)) + c.gamma);
    const double end = p->step > x->step ? s->high : s->low;
    const double cubic = r < 0 && fabs(c.gamma) > 0 ? p->step + r * (x->step - p->step) : end;
    const double secant = p->step + p->slope / (p->slope - x->slope) * (x->step - p->step);
    if (!s->bracketed)
        return clamp(farther_from(p->step, cubic, secant), s->low, s->high);
    const double limit = p->step + NARROWING * (s->other.step - p->step), step = closer_to(p->step, cubic, secant);
    return p->step > x->step ? fmin(limit, step) : fmax(limit, step);
}

// None of these cases: towards the other end of the bracket, or as far as is allowed.
static double step_on(const struct rb_line_search *s, const struct rb_line_point *p)
{
    const struct rb_line_point *y = &s->other;
    if (!s->bracketed)
        return p->step > s->best.step ? s->high : s->low;
    struct cubic c = cubic_of(p, y, false);
    c.gamma = p->step > y->step ? -c.gamma : c.gamma;
    const double r = ((c.gamma - p->slope) + c.theta) / (((c.gamma - p->slope) + c.gamma) + y->slope);
    return p->step + r * (y->step - p->step);
}

static double choose(struct rb_line_search *s, const struct rb_line_point *p)
{
    const bool sign_changed = p->slope * (s->best.slope / fabs(s->best.slope)) < 0;
    double step;
    if (p->value > s->best.value)
        step = step_back(&s->best, p);
    else if (sign_changed)
        step = step_between(&s->best, p);
    else if (fabs(p->slope) < fabs(s->best.slope))
        step = step_ahead(s, p);
    else
        step = step_on(s, p);
    s->bracketed |= p->value > s->best.value || sign_changed;
    if (p->value > s->best.value) {
        s->other = *p;
    } else {
        if (sign_changed)
            s->other = s->best;
        s->best = *p;
    }
    return step;
}

static struct rb_line_point tilt(struct rb_line_point p, double slope)
{
    return (struct rb_line_point){p.step, p.value - p.step * slope, p.slope - slope};
}

// Until a point below the line of sufficient decrease is found, searches the function's excess over that line instead.
static double choose_on_excess(struct rb_line_search *s, const struct rb_line_point *p, double slope)
{
    const struct rb_line_point tilted = tilt(*p, slope);
    s->best = tilt(s->best, slope);
    s->other = tilt(s->other, slope);
    const double step = choose(s, &tilted);
    s->best = tilt(s->best, -slope);
    s->other = tilt(s->other, -slope);
    return step;
}

static bool is_narrow(const struct rb_line_search *s, double step)
{
    return s->bracketed && (step <= s->low || step >= s->high || s->high - s->low <= RB_LINE_TOLERANCE * s->high);
}

static bool is_done(const struct rb_line_search *s, const struct rb_line_point *p, double line)
{
    const double least_slope = RB_LINE_DECREASE * s->start.slope;
    if (is_narrow(s, p->step) || (p->step <= 0 && (p->value > line || p->slope >= least_slope)))
        return true;
    if (p->step >= s->max_step && p->value <= line && p->slope <= least_slope)
        return true;
    return p->value <= line && fabs(p->slope) <= RB_LINE_FLATNESS * -s->start.slope;
}

static double halve_if_slow(struct rb_line_search *s, double step)
{
    const double width = fabs(s->other.step - s->best.step);
    if (width >= NARROWING * s->width_before)
        step = s->best.step + 0.5 * (s->other.step - s->best.step);
    s->width_before = s->width;
    s->width = width;
    return step;
}

bool rb_line_search_next(struct rb_line_search *s, double value, double slope, double *step)
{
    const struct rb_line_point p = {*step, value, slope};
    const double line_slope = RB_LINE_DECREASE * s->start.slope, line = s->start.value + p.step * line_slope;
    s->below |= value <= line && slope >= 0;
    if (is_done(s, &p, line))
        return true;
    const bool on_excess = !s->below && value <= s->best.value && value > line;
    double next = on_excess ? choose_on_excess(s, &p, line_slope) : choose(s, &p);
    if (s->bracketed) {
        next = halve_if_slow(s, next);
        s->low = fmin(s->best.step, s->other.step);
        s->high = fmax(s->best.step, s->other.step);
    } else {
        s->low = next + LEAST_STRETCH * (next - s->best.step);
        s->high = next + MOST_STRETCH * (next - s->best.step);
    }
    next = clamp(next, 0, s->max_step);
    *step = is_narrow(s, next) ? s->best.step : next;
    return false;
}
