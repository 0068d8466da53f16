#include "simulator/list_schedule_node.h"

#include <string.h>

#define RAISED 100 // of the dust: cut off on the way to a power
#define PAD    4   // loops run in fours, so that any compiler puts them into vectors

struct rb_schedule_starts rb_schedule_trimmed(const double *p, int from, int to, double dust)
{
    struct rb_schedule_starts s = {.p = p, .from = from, .to = to};
    while (s.to > s.from && s.p[s.to - s.from] < dust)
        s.to--;
    while (s.from < s.to && *s.p < dust) {
        s.from++;
        s.p++;
    }
    double starts = 0;
    for (int j = s.from; j <= s.to; j++) {
        s.total += s.p[j - s.from];
        starts += s.p[j - s.from] * j;
    }
    s.mean = s.total > 0 ? starts / s.total : 0;
    return s;
}

void rb_schedule_node_make(struct rb_schedule_node *node)
{
    const struct rb_renewal *r = node->slot;
    const size_t most = (size_t)node->slots * (size_t)(r->max_k + 1) + 2 * PAD;
    node->stride = r->max_k + 1 - r->min_k;
    node->diagonals = rb_arena_array(node->arena, (size_t)(r->max_age + node->last_y) + 1, sizeof *node->diagonals);
    node->ages = rb_arena_array(node->arena, (size_t)node->last_y + 1, sizeof *node->ages);
    node->scratch = rb_arena_array(node->arena, 4 * most, sizeof *node->scratch);
    node->more = node->scratch + most;
    node->sum = node->more + most;
    node->base = node->sum + most;
}

// A slot's chances come for all ages that have the same end at once.
static const double *chances_of(struct rb_schedule_node *node, int age, int y)
{
    struct rb_schedule_diagonal *d = &node->diagonals[age + y];
    if (!d->chances) {
        const int oldest = age + y - node->first_y, max_age = node->slot->max_age;
        const int to = oldest < max_age ? oldest : max_age;
        d->from = age + y > node->last_y ? age + y - node->last_y : 0;
        d->chances = rb_arena_array(node->arena, (size_t)(to - d->from + 1) * (size_t)node->stride, sizeof *d->chances);
        rb_renewal_chances(node->slot, age + y, d->from, to, d->chances, node->stride);
    }
    return d->chances + (size_t)(age - d->from) * (size_t)node->stride;
}

// out = a * b, polynomials of so many coefficients; returns how many of out.
static int multiply(const double *a, int n_a, const double *b, int n_b, double *out)
{
    memset(out, 0, (size_t)(n_a + n_b - 1) * sizeof *out);
    for (int i = 0; i < n_a; i++) {
        for (int j = 0; j < n_b; j++)
            out[i + j] += a[i] * b[j];
    }
    return n_a + n_b - 1;
}

struct polynomial { // coefficients of z^from, z^(from+1), ..
    double *p;
    int from, n;
};

// a * b in `room`, without what is less than `dust` at either end.
static struct polynomial product(const struct polynomial *a, const struct polynomial *b, double dust, double *room)
{
    struct polynomial out = {room, a->from + b->from, multiply(a->p, a->n, b->p, b->n, room)};
    while (out.n > 1 && out.p[out.n - 1] < dust)
        out.n--;
    while (out.n > 1 && out.p[0] < dust) {
        out.p++;
        out.from++;
        out.n--;
    }
    return out;
}

// A slot's generating function to the power `slots`, from the highest binary digit down.
static struct polynomial raised(struct rb_schedule_node *node, const struct rb_schedule_starts *slot)
{
    const struct polynomial base = {node->base, slot->from, slot->to - slot->from + 1};
    struct polynomial out = base;
    double *const rooms[] = {node->scratch, node->sum}; // in turn
    const double dust = node->dust / RAISED;
    int digit = 1, turn = 0;
    memcpy(node->base, slot->p, (size_t)base.n * sizeof *node->base);
    while (digit <= node->slots / 2)
        digit *= 2;
    while (digit /= 2) {
        out = product(&out, &out, dust, rooms[turn++ % 2]);
        if (node->slots & digit)
            out = product(&out, &base, dust, rooms[turn++ % 2]);
    }
    return out;
}

static const struct rb_schedule_age *age_of(struct rb_schedule_node *node, int age, int y)
{
    if (!node->ages[y])
        node->ages[y] = rb_arena_array(node->arena, (size_t)node->slot->max_age + 1, sizeof **node->ages);
    struct rb_schedule_age *at = &node->ages[y][age];
    if (at->n > 0)
        return at;
    const int first = node->slot->min_k + 1;
    const struct rb_schedule_starts slot =
        rb_schedule_trimmed(chances_of(node, age, y), first, first + node->stride - 1, node->dust);
    const struct polynomial power = raised(node, &slot);
    const struct rb_schedule_starts all =
        rb_schedule_trimmed(power.p, power.from, power.from + power.n - 1, node->dust);
    at->from = all.from;
    at->n = all.to - all.from + 1;
    at->p = rb_arena_array(node->arena, (size_t)at->n + PAD, sizeof *at->p);
    memcpy(at->p, all.p, (size_t)at->n * sizeof *at->p);
    return at;
}

// Coefficients from..to of a sum of generating functions; index 0 is of `lowest` starts.
struct average {
    double *sum;
    int lowest, from, to;
};

static void add(struct average *average, double weight, const struct rb_schedule_age *at)
{
    double *sum = average->sum + (at->from - average->lowest);
    for (int j = 0; j < at->n; j += PAD) {
        for (int i = 0; i < PAD; i++)
            sum[j + i] += weight * at->p[j + i];
    }
    const int to = at->from + at->n - 1;
    average->from = at->from < average->from ? at->from : average->from;
    average->to = to > average->to ? to : average->to;
}

void rb_schedule_node_at(struct rb_schedule_node *node, int x, int y, struct rb_schedule_starts *out)
{
    const struct rb_opening_lattice *opening = node->opening;
    const int lowest = node->slots * (node->slot->min_k + 1), most = node->slots * (node->slot->max_k + 1);
    const int last = x < opening->last ? x : opening->last, even = x - RB_LATTICE_ENDS;
    struct average average = {node->more, lowest, most, lowest};
    memset(node->more, 0, (size_t)(most + 1 - lowest + PAD) * sizeof *node->more);
    int o = opening->first;
    for (; o <= last && o <= even; o++)
        add(&average, opening->weight[o], age_of(node, x - o, y));
    for (; o <= last; o++)
        add(&average, rb_opening_weight(opening, o, x), age_of(node, x - o, y));
    *out = average.from <= average.to
               ? rb_schedule_trimmed(node->more + (average.from - lowest), average.from, average.to, node->dust)
               : (struct rb_schedule_starts){.p = node->more, .from = lowest, .to = lowest};
}
