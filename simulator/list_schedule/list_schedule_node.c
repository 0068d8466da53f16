#include "simulator/list_schedule/list_schedule_node.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define FOUR 4 // coefficients are added in fours

struct polynomial { // coefficients of z^from, z^(from+1), ..
    const double *p;
    int from, n;
};

// Without what is less than `dust` at either end; one coefficient is left.
static struct polynomial trimmed(struct polynomial a, double dust)
{
    while (a.n > 1 && fabs(a.p[a.n - 1]) < dust)
        a.n--;
    while (a.n > 1 && fabs(a.p[0]) < dust) {
        a.p++;
        a.from++;
        a.n--;
    }
    return a;
}

struct rb_schedule_starts rb_schedule_trimmed(const double *p, int from, int to, double dust)
{
    const struct polynomial a = trimmed((struct polynomial){p, from, to - from + 1}, dust);
    struct rb_schedule_starts s = {.p = a.p, .from = a.from, .to = a.from + a.n - 1};
    double total[2] = {0}, starts[2] = {0}; // even and odd ones side by side
    for (int j = 0; j < a.n; j++) {
        total[j % 2] += a.p[j];
        starts[j % 2] += a.p[j] * j;
    }
    s.total = total[0] + total[1];
    s.mean = s.total > 0 ? a.from + (starts[0] + starts[1]) / s.total : 0;
    return s;
}

void rb_schedule_node_make(struct rb_schedule_node *node)
{
    const struct rb_renewal *r = node->slot;
    const size_t most = (size_t)node->slots * (size_t)(r->max_k + 1) + 2 * RB_CONVOLVE_TILE;
    node->diagonals = rb_arena_array(node->arena, (size_t)(r->max_age + node->last_y) + 1, sizeof *node->diagonals);
    node->ages = rb_arena_array(node->arena, (size_t)node->last_y + 1, sizeof *node->ages);
    node->rooms[0] = rb_arena_array(node->arena, 4 * most, sizeof *node->sum);
    node->rooms[1] = node->rooms[0] + most;
    node->sum = node->rooms[1] + most;
    node->padded = node->sum + most;
}

static void fill(struct rb_schedule_node *node, int age, int y, int apart, struct rb_renewal_chances *d)
{
    const int t = age + y, youngest = t > node->last_y ? t - node->last_y : 0, oldest = t - node->first_y;
    const int max_age = node->slot->max_age;
    d->apart = apart;
    d->from = youngest + (age - youngest) % apart;
    d->to = oldest < max_age ? oldest : max_age;
    rb_renewal_likely(node->slot, d);
    d->p = rb_arena_room(node->arena, (size_t)((d->to - d->from) / apart + 1) * (size_t)d->n_k, sizeof *d->p);
    rb_renewal_fill(node->slot, t, d);
}

// A slot's chances come for all ages that have the same end at once: those that are as far apart as times left are, or all.
static struct polynomial chances_of(struct rb_schedule_node *node, int age, int y)
{
    struct rb_renewal_chances *d = &node->diagonals[age + y];
    if (!d->p)
        fill(node, age, y, node->apart, d);
    else if ((age - d->from) % d->apart != 0)
        fill(node, age, y, 1, d);
    const size_t i = (size_t)((age - d->from) / d->apart);
    return (struct polynomial){d->p + i * (size_t)d->n_k, d->min_k + 1, d->n_k};
}

// With a tile of zeros on either side.
static struct polynomial padded(struct rb_schedule_node *node, struct polynomial a)
{
    double *const copy = node->padded + RB_CONVOLVE_TILE;
    memcpy(copy, a.p, (size_t)a.n * sizeof *copy);
    memset(copy + a.n, 0, RB_CONVOLVE_TILE * sizeof *copy);
    return (struct polynomial){copy, a.from, a.n};
}

// a * b in `room`, b being padded, without dust.
static struct polynomial product(struct rb_schedule_node *node, struct polynomial a, struct polynomial b, double *room)
{
    const struct polynomial all = {room, a.from + b.from, a.n + b.n - 1};
    node->convolver->convolve(a.p, a.n, 1, b.p, b.n, room, all.n);
    return trimmed(all, node->dust);
}

// A slot's generating function to the power `slots`, from the highest binary digit down.
static struct polynomial raised(struct rb_schedule_node *node, struct polynomial slot)
{
    struct polynomial out = slot;
    int digit = 1, turn = 0;
    while (digit <= node->slots / 2)
        digit *= 2;
    while (digit /= 2) {
        out = product(node, out, padded(node, out), node->rooms[turn++ % 2]);
        if (node->slots & digit)
            out = product(node, out, padded(node, slot), node->rooms[turn++ % 2]);
    }
    return out;
}

static int fewest_starts(const struct rb_schedule_node *node)
{
    return node->slots * (node->slot->min_k + 1);
}

static struct rb_schedule_age *make_age(struct rb_schedule_node *node, int age, int y)
{
    const struct polynomial all = raised(node, trimmed(chances_of(node, age, y), node->dust));
    const int from = all.from - fewest_starts(node), lead = from % FOUR, n = (lead + all.n + FOUR - 1) / FOUR * FOUR;
    struct rb_schedule_age *out = rb_arena_room(node->arena, 1, sizeof *out + (size_t)n * sizeof *out->p);
    out->from = from - lead;
    out->n = n;
    for (int i = 0; i < FOUR; i++) // what no coefficient overwrites
        out->p[i] = out->p[n - 1 - i] = 0;
    memcpy(out->p + lead, all.p, (size_t)all.n * sizeof *out->p);
    return out;
}

static struct rb_schedule_age **ages_of(struct rb_schedule_node *node, int y)
{
    if (!node->ages[y])
        node->ages[y] = rb_arena_array(node->arena, (size_t)node->slot->max_age + 1, sizeof **node->ages);
    return node->ages[y];
}

struct openings { // that a node is averaged over: first, first + apart, .. <= last
    int first, last, apart;
};

// Ages are multiples: they come back at every end.
static struct openings openings_until(const struct rb_schedule_node *node, int x)
{
    const struct rb_opening_lattice *all = node->opening;
    const int last = x < all->last ? x : all->last;
    const bool whole = last <= x - RB_LATTICE_ENDS * node->openings_apart;
    const int apart = whole ? node->openings_apart : node->cut_openings_apart;
    return (struct openings){all->first + (x - all->first) % apart, last, apart};
}

struct powers { // of z, from the fewest starts on, in whole fours; to < from: none
    int from, to;
};

static struct powers make_ages(struct rb_schedule_node *node, const struct openings *openings, int x, int y)
{
    struct rb_schedule_age **ages = ages_of(node, y);
    struct powers all = {INT_MAX, -1};
    for (int o = openings->first; o <= openings->last; o += openings->apart) {
        if (!ages[x - o])
            ages[x - o] = make_age(node, x - o, y);
        const struct rb_schedule_age *at = ages[x - o];
        const int to = at->from + at->n - 1;
        all.from = at->from < all.from ? at->from : all.from;
        all.to = to > all.to ? to : all.to;
    }
    return all;
}

// Of a narrow law the opening a point later counts, too: all slots start their first trial then.
static double opening_next(const struct rb_schedule_node *node, int x, int y)
{
    const double ends = rb_trial_lattice_below(node->slot->trial, y - 1);
    double chance = rb_opening_weight(node->opening, x + 1, x, 1);
    for (int i = 0; i < node->slots; i++)
        chance *= ends;
    return chance;
}

static void add_openings(struct rb_schedule_node *node, const struct openings *openings, int x, int y)
{
    struct rb_schedule_age *const *ages = ages_of(node, y);
    const int apart = openings->apart, inner = rb_opening_last_inner(node->opening, x, apart);
    const int until = inner < openings->last ? inner : openings->last;
    const int n = until < openings->first ? 0 : (until - openings->first) / apart + 1;
    int o = openings->first;
    node->convolver->add(&ages[x - o], node->opening->weight + o, n, apart, apart, node->sum);
    for (o += n * apart; o <= openings->last; o += apart) {
        const double weight = rb_opening_weight(node->opening, o, x, apart);
        node->convolver->add(&ages[x - o], &weight, 1, apart, 1, node->sum);
    }
}

void rb_schedule_node_at(struct rb_schedule_node *node, int x, int y, struct rb_schedule_starts *out)
{
    const int lowest = fewest_starts(node), once = node->slots - lowest;
    const struct openings openings = openings_until(node, x);
    struct powers all = make_ages(node, &openings, x, y);
    const bool next = node->opening->narrow && x + 1 >= node->opening->first && x + 1 <= node->opening->last;
    if (next)
        all = (struct powers){once < all.from ? once : all.from, once > all.to ? once : all.to};
    if (all.to < all.from) {
        *out = (struct rb_schedule_starts){.p = node->sum, .from = lowest, .to = lowest};
        node->sum[0] = 0;
        return;
    }
    memset(node->sum + all.from, 0, (size_t)(all.to + 1 - all.from) * sizeof *node->sum);
    if (openings.first <= openings.last)
        add_openings(node, &openings, x, y);
    if (next)
        node->sum[once] += opening_next(node, x, y);
    *out = rb_schedule_trimmed(node->sum + all.from, lowest + all.from, lowest + all.to, node->dust);
}
