#include "planner/scores/on_time_kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SMALL       1e-9 // a transform below this changes no probability that is told
#define DECAY       6.0  // frequencies up to 6 standard deviations: a normal law has died out to 1e-8 there
#define LANES       RB_ON_TIME_LANES
#define BLOCK       32
#define FIRST_SLOTS 256

struct slot {
    const struct rb_law *law; // NULL: empty
    struct rb_transform transform;
};

struct rb_on_time {
    double window_s;
    double omega;                      // of the first frequency; the k-th is (2 k + 1) omega
    double *deadline_re, *deadline_im; // weights [n]
    int n;
    struct slot *slots;
    size_t n_slots, n_used;
    struct rb_arena arena;
    double *re, *im; // scratch [n]
};

// The angles of one block are those of its first, turned.
static void fill_weights(const struct rb_on_time *o, double limit_s, double *re, double *im)
{
    const double angle = o->omega * limit_s, pi = acos(-1);
    double turn_re[BLOCK], turn_im[BLOCK];
    for (int j = 0; j < BLOCK; j++) {
        turn_re[j] = cos(2 * j * angle);
        turn_im[j] = sin(2 * j * angle);
    }
    for (int from = 0; from < o->n; from += BLOCK) {
        const double first_re = cos((2 * from + 1) * angle), first_im = sin((2 * from + 1) * angle);
        const int end = from + BLOCK < o->n ? from + BLOCK : o->n;
        for (int k = from; k < end; k++) {
            const double scale = 2 / (pi * (2 * k + 1)), c = turn_re[k - from], s = turn_im[k - from];
            re[k] = scale * (first_im * c + first_re * s);
            im[k] = -scale * (first_re * c - first_im * s);
        }
    }
}

struct rb_on_time *rb_on_time_create(double window_s, double deviation_s)
{
    struct rb_on_time *o = rb_xcalloc(1, sizeof *o);
    double terms = deviation_s > 0 ? ceil(DECAY * window_s / (2 * acos(-1) * deviation_s)) : RB_ON_TIME_TERMS;
    o->n = terms < RB_ON_TIME_TERMS ? (int)terms : RB_ON_TIME_TERMS;
    o->n = (o->n + LANES) / LANES * LANES;
    o->window_s = window_s;
    o->omega = acos(-1) / window_s;
    o->n_slots = FIRST_SLOTS;
    o->slots = rb_xcalloc(o->n_slots, sizeof *o->slots);
    o->re = rb_xcalloc((size_t)o->n, sizeof *o->re);
    o->im = rb_xcalloc((size_t)o->n, sizeof *o->im);
    rb_arena_init(&o->arena);
    o->deadline_re = rb_arena_array(&o->arena, (size_t)o->n, sizeof *o->deadline_re);
    o->deadline_im = rb_arena_array(&o->arena, (size_t)o->n, sizeof *o->deadline_im);
    rb_on_time_set_deadline(o, window_s);
    return o;
}

void rb_on_time_set_deadline(struct rb_on_time *o, double deadline_s)
{
    fill_weights(o, deadline_s, o->deadline_re, o->deadline_im);
}

void rb_on_time_destroy(struct rb_on_time *o)
{
    if (!o)
        return;
    rb_arena_finish(&o->arena);
    free(o->slots);
    free(o->re);
    free(o->im);
    free(o);
}

int rb_on_time_terms(const struct rb_on_time *o)
{
    return o->n;
}

size_t rb_on_time_bytes(const struct rb_on_time *o)
{
    return o->arena.used_bytes;
}

double rb_on_time_window_s(const struct rb_on_time *o)
{
    return o->window_s;
}

struct rb_limit_weights rb_on_time_deadline(const struct rb_on_time *o)
{
    return (struct rb_limit_weights){o->deadline_re, o->deadline_im};
}

// --- transforms, by the address of their law

static struct slot *find(struct slot *slots, size_t n_slots, const struct rb_law *law)
{
    size_t i = (size_t)(((uint64_t)(uintptr_t)law * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (n_slots - 1);
    while (slots[i].law && slots[i].law != law)
        i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

static void grow(struct rb_on_time *o)
{
    struct slot *slots = rb_xcalloc(2 * o->n_slots, sizeof *slots);
    for (size_t i = 0; i < o->n_slots; i++) {
        if (o->slots[i].law)
            *find(slots, 2 * o->n_slots, o->slots[i].law) = o->slots[i];
    }
    free(o->slots);
    o->slots = slots;
    o->n_slots *= 2;
}

struct rb_transform rb_on_time_transform_once(struct rb_on_time *o, const struct rb_law *law, struct rb_arena *arena)
{
    rb_law_transform_odd(law, o->omega, o->n, o->re, o->im);
    int n = o->n;
    while (n > LANES && fabs(o->re[n - 1]) < SMALL && fabs(o->im[n - 1]) < SMALL)
        n--;
    n = (n + LANES - 1) / LANES * LANES;
    double *re = rb_arena_array(arena, (size_t)n, sizeof *re);
    double *im = rb_arena_array(arena, (size_t)n, sizeof *im);
    memcpy(re, o->re, (size_t)n * sizeof *re);
    memcpy(im, o->im, (size_t)n * sizeof *im);
    return (struct rb_transform){n, re, im};
}

const struct rb_transform *rb_on_time_transform(struct rb_on_time *o, const struct rb_law *law)
{
    struct slot *s = find(o->slots, o->n_slots, law);
    if (!s->law) {
        if (4 * (o->n_used + 1) > 3 * o->n_slots) {
            grow(o);
            s = find(o->slots, o->n_slots, law);
        }
        *s = (struct slot){law, rb_on_time_transform_once(o, law, &o->arena)};
        o->n_used++;
    }
    return &s->transform;
}

// --- products

void rb_product_begin(struct rb_product *p, int n_terms)
{
    p->n = n_terms;
    for (int k = 0; k < n_terms; k++) {
        p->re[k] = 1;
        p->im[k] = 0;
    }
}

static const struct rb_on_time_kernel *kernel(void)
{
#ifdef RB_ON_TIME_HAS_AVX2
    if (__builtin_cpu_supports("avx2"))
        return &rb_on_time_kernel_avx2;
#endif
    return &rb_on_time_kernel_plain;
}

void rb_product_multiply(struct rb_product *out, const struct rb_product *a, const struct rb_transform *b)
{
    kernel()->multiply(out, a, b);
}

struct rb_limit_weights rb_on_time_weights(const struct rb_on_time *o, double limit_s, struct rb_arena *arena)
{
    double *re = rb_arena_array(arena, (size_t)o->n, sizeof *re);
    double *im = rb_arena_array(arena, (size_t)o->n, sizeof *im);
    fill_weights(o, limit_s, re, im);
    return (struct rb_limit_weights){re, im};
}

double rb_product_below(const struct rb_product *p, const struct rb_limit_weights *w)
{
    return kernel()->below(p, w);
}

double rb_product_below_with(const struct rb_product *a, const struct rb_transform *b, const struct rb_limit_weights *w)
{
    return kernel()->below_with(a, b, w);
}

double rb_transforms_below(const struct rb_transform *const *factors, int n_factors, const struct rb_limit_weights *w)
{
    return kernel()->transforms_below(factors, n_factors, w);
}

double rb_product_leftover(const struct rb_product *p, const struct rb_on_time *o)
{
    if (p->n < o->n || p->n < 1)
        return 0;
    double last = hypot(p->re[p->n - 1], p->im[p->n - 1]);
    return last < SMALL ? 0 : fmin(1, last);
}
