#include "simulator/list_schedule_node.h"

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
    node->scratch = rb_arena_array(node->arena, 4 * most, sizeof *node->scratch);
    node->more = node->scratch + most;
    node->sum = node->more + most;
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
    d->p = rb_arena_array(node->arena, (size_t)((d->to - d->from) / apart + 1) * (size_t)d->n_k, sizeof *d->p);
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
    double *const rooms[] = {node->scratch, node->sum}; // in turn
    int digit = 1, turn = 0;
    while (digit <= node->slots / 2)
        digit *= 2;
    while (digit /= 2) {
        out = product(node, out, padded(node, out), rooms[turn++ % 2]);
        if (node->slots & digit)
            out = product(node, out, padded(node, slot), rooms[turn++ % 2]);
    }
    return out;
}

static int fewest_starts(const struct rb_schedule_node *node)
{
    return node->slots * (node->slot->min_k + 1);
}

static const struct rb_schedule_age *age_of(struct rb_schedule_node *node, int age, int y)
{
    if (!node->ages[y])
        node->ages[y] = rb_arena_array(node->arena, (size_t)node->slot->max_age + 1, sizeof **node->ages);
    struct rb_schedule_age *at = &node->ages[y][age];
    if (at->n > 0)
        return at;
    const struct polynomial all = trimmed(raised(node, trimmed(chances_of(node, age, y), node->dust)), node->dust);
    const int lead = (all.from - fewest_starts(node)) % FOUR;
    at->from = all.from - lead;
    at->n = (lead + all.n + FOUR - 1) / FOUR * FOUR;
    at->p = rb_arena_array(node->arena, (size_t)at->n, sizeof *at->p);
    memcpy(at->p + lead, all.p, (size_t)all.n * sizeof *at->p);
    return at;
}

// Coefficients from..to of a sum of generating functions; index 0 is of `lowest` starts.
struct average {
    double *sum;
    int lowest, from, to;
};

static void add(const struct rb_schedule_node *node, struct average *average, double weight,
                const struct rb_schedule_age *at)
{
    const int to = at->from + at->n - 1;
    node->convolver->add(weight, at->p, at->n, average->sum + (at->from - average->lowest));
    average->from = at->from < average->from ? at->from : average->from;
    average->to = to > average->to ? to : average->to;
}

// Of a narrow law the opening a point later counts, too: all slots start their first trial then.
static void add_opening_next(const struct rb_schedule_node *node, struct average *average, int x, int y)
{
    const double ends = rb_trial_lattice_below(node->slot->trial, y - 1);
    double chance = rb_opening_weight(node->opening, x + 1, x, 1);
    for (int i = 0; i < node->slots; i++)
        chance *= ends;
    average->sum[node->slots - average->lowest] += chance;
    average->from = node->slots < average->from ? node->slots : average->from;
    average->to = node->slots > average->to ? node->slots : average->to;
}

void rb_schedule_node_at(struct rb_schedule_node *node, int x, int y, struct rb_schedule_starts *out)
{
    const struct rb_opening_lattice *opening = node->opening;
    const int lowest = fewest_starts(node), most = node->slots * (node->slot->max_k + 1);
    const int last = x < opening->last ? x : opening->last;
    const bool whole = last <= x - RB_LATTICE_ENDS * node->openings_apart;
    const int apart = whole ? node->openings_apart : node->cut_openings_apart;
    struct average average = {node->more, lowest, most, lowest};
    memset(node->more, 0, (size_t)(most + 1 - lowest + FOUR) * sizeof *node->more);
    int o = opening->first + (x - opening->first) % apart; // ages are multiples: they come back at every end
    for (; o <= last; o += apart)
        add(node, &average, rb_opening_weight(opening, o, x, apart), age_of(node, x - o, y));
    if (opening->narrow && x + 1 >= opening->first && x + 1 <= opening->last)
        add_opening_next(node, &average, x, y);
    *out = average.from <= average.to
               ? rb_schedule_trimmed(node->more + (average.from - lowest), average.from, average.to, node->dust)
               : (struct rb_schedule_starts){.p = node->more, .from = lowest, .to = lowest};
}
