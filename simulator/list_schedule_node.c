#include "simulator/list_schedule_node.h"

#include <string.h>

#define LANES  RB_CIRCLE_LANES
#define MARGIN 12 // ages around those asked for that there is room for

void rb_schedule_node_make(struct rb_schedule_node *node)
{
    const struct rb_renewal *r = node->slot;
    node->stride = r->max_k + 1 - r->min_k;
    node->rows = rb_arena_array(node->arena, (size_t)node->last_y + 1, sizeof *node->rows);
    node->diagonals = rb_arena_array(node->arena, (size_t)(r->max_age + node->last_y) + 1, sizeof *node->diagonals);
    node->weights = rb_arena_array(node->arena, (size_t)r->max_age + 1, sizeof *node->weights);
    node->at = rb_arena_array(node->arena, (size_t)node->circle->blocks, sizeof *node->at);
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

static double *block_of(const struct rb_schedule_node_row *row, int block, int age)
{
    return row->blocks + ((size_t)block * (size_t)row->room + (size_t)(age - row->first)) * 2 * LANES;
}

// Room for from <= a < to; what has been made moves there.
static void make_room(const struct rb_schedule_node *node, struct rb_schedule_node_row *row, int from, int to)
{
    const struct rb_schedule_node_row was = *row;
    const int made = was.to - was.from;
    if (was.room > 0 && from >= was.first && to <= was.first + was.room)
        return;
    if (made > 0) {
        from = from < was.from ? from : was.from;
        to = to > was.to ? to : was.to;
    }
    row->first = from > MARGIN ? from - MARGIN : 0;
    row->room = to + MARGIN - row->first;
    row->at_one = rb_arena_array(node->arena, (size_t)row->room, sizeof *row->at_one);
    row->slope = rb_arena_array(node->arena, (size_t)row->room, sizeof *row->slope);
    row->blocks =
        rb_arena_array(node->arena, (size_t)node->circle->blocks * (size_t)row->room * 2 * LANES, sizeof *row->blocks);
    if (made <= 0)
        return;
    memcpy(row->at_one + (was.from - row->first), was.at_one + (was.from - was.first),
           (size_t)made * sizeof *row->at_one);
    memcpy(row->slope + (was.from - row->first), was.slope + (was.from - was.first), (size_t)made * sizeof *row->slope);
    for (int b = 0; b < node->circle->blocks; b++)
        memcpy(block_of(row, b, was.from), block_of(&was, b, was.from), (size_t)made * 2 * LANES * sizeof *row->blocks);
}

static void fill(struct rb_schedule_node *node, struct rb_schedule_node_row *row, int y, int from, int to)
{
    for (int a = from; a < to; a++) {
        const struct rb_schedule_slot s = rb_schedule_slot_of(node->slot, chances_of(node, a, y), node->dust);
        const double whole = rb_schedule_power(s.total, node->slots);
        row->at_one[a - row->first] = whole;
        row->slope[a - row->first] = node->slots * s.mean * whole;
        for (int b = 0; b < node->circle->blocks; b++)
            node->kernel->slots(node->circle, &s, node->slots, b, block_of(row, b, a));
    }
}

// Ages from <= a < to.
static void need(struct rb_schedule_node *node, struct rb_schedule_node_row *row, int y, int from, int to)
{
    make_room(node, row, from, to);
    if (row->from == row->to)
        row->from = row->to = from;
    if (from < row->from) {
        fill(node, row, y, from, row->from);
        row->from = from;
    }
    if (to > row->to) {
        fill(node, row, y, row->to, to);
        row->to = to;
    }
}

void rb_schedule_node_at(struct rb_schedule_node *node, int x, int y, struct rb_schedule_node_place *out)
{
    const struct rb_opening_lattice *opening = node->opening;
    const int last = x < opening->last ? x : opening->last, n = last < opening->first ? 0 : last - opening->first + 1;
    struct rb_schedule_node_row *row = &node->rows[y];
    double total = opening->unopened[x], slope = 0;
    if (n > 0)
        need(node, row, y, x - last, x - last + n);
    for (int i = 0; i < n; i++) {
        const double g = rb_opening_weight(opening, last - i, x);
        node->weights[i] = g;
        total += g * row->at_one[x - last + i - row->first];
        slope += g * row->slope[x - last + i - row->first];
    }
    for (int b = 0; b < node->circle->blocks; b++)
        node->at[b] = n > 0 ? block_of(row, b, x - last) : NULL;
    *out = (struct rb_schedule_node_place){
        .unopened = opening->unopened[x],
        .total = total,
        .mean = total > 0 ? slope / total : 0,
        .weights = node->weights,
        .blocks = node->at,
        .n_openings = n,
    };
}
