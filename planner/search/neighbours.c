#include "planner/search/neighbours.h"

#include <math.h>

#define MOST_LOOKS   64 // plans made exact or offered, in all ...
#define MOST_REFUSED 8  // ... of these, that look in time and are not feasible

struct neighbours {
    struct rb_exact *x;
    struct rb_lattice *l;
    struct rb_lattice_path at;                    // the best's
    struct rb_lattice_path refused[MOST_REFUSED]; // [n_refused]
    int n_refused;
    double deadline_s, cost_uusd; // of the best of the neighbours
    struct rb_lattice_path best;
};

static bool is_same(const struct rb_lattice *l, const struct rb_lattice_path *a, const struct rb_lattice_path *b)
{
    int stage = 0;
    while (stage < l->n_stages && a->entry[stage] == b->entry[stage])
        stage++;
    return stage == l->n_stages;
}

static bool is_refused(const struct neighbours *n, const struct rb_lattice_path *path)
{
    for (int i = 0; i < n->n_refused; i++) {
        if (is_same(n->l, path, &n->refused[i]))
            return true;
    }
    return false;
}

// Cheaper than any so far, and in time if its time were normal, as far as its bounds know.
static void consider(struct neighbours *n, const struct rb_lattice_path *path)
{
    const struct rb_lattice_entry *before = NULL;
    double cost_uusd = 0;
    for (int stage = 0; stage < n->l->n_stages; stage++) {
        const struct rb_lattice_entry *e = &n->l->stages[stage].entries[path->entry[stage]];
        cost_uusd += e->likely_uusd[rb_lattice_kept(before, e)];
        if (cost_uusd >= n->cost_uusd)
            return;
        before = e;
    }
    if (rb_exact_likely_s(n->x, path) > n->deadline_s || is_refused(n, path))
        return;
    n->cost_uusd = cost_uusd;
    n->best = *path;
}

// The entry of a stage with a size and a node count; -1: there is none.
static int find_entry(const struct rb_lattice *l, int stage, const struct rb_choice *like, int count)
{
    const struct rb_lattice_stage *list = &l->stages[stage];
    for (int i = list->first[like->offer]; i < list->first[like->offer + 1]; i++) {
        if (list->entries[i].count == count && list->entries[i].choice.gpus == like->gpus)
            return i;
    }
    return -1;
}

// Stages from one on, one after the other, on so many nodes.
static void consider_runs(struct neighbours *n, int from, int count)
{
    struct rb_lattice_path path = n->at;
    for (int stage = from; stage < n->l->n_stages; stage++) {
        const struct rb_choice *c = &n->l->stages[stage].entries[n->at.entry[stage]].choice;
        path.entry[stage] = find_entry(n->l, stage, c, count);
        if (path.entry[stage] < 0)
            return;
        consider(n, &path);
    }
}

static void look_around(struct neighbours *n)
{
    n->cost_uusd = rb_exact_to_beat(n->x);
    for (int stage = 0; stage < n->l->n_stages; stage++) {
        struct rb_lattice_path path = n->at;
        const struct rb_choice *c = &n->l->stages[stage].entries[path.entry[stage]].choice;
        for (int i = 0; i < n->l->stages[stage].n; i++) {
            path.entry[stage] = i;
            consider(n, &path);
        }
        for (int count = 0; count < n->l->counts[c->offer].n; count++)
            consider_runs(n, stage, count);
    }
}

bool rb_neighbours_improve(struct rb_exact *x, struct rb_err *err)
{
    struct neighbours n = {.x = x, .l = &x->lattice, .deadline_s = (double)x->search->req->deadline_us / 1e6};
    if (!x->has_best || !x->search->on_time || !rb_lattice_find(n.l, &x->best, &n.at))
        return true;
    for (int looks = 0; looks < MOST_LOOKS && n.n_refused < MOST_REFUSED && !rb_exact_out_of_time(x); looks++) {
        const double to_beat = rb_exact_to_beat(x);
        bool changed;
        look_around(&n);
        if (n.cost_uusd >= to_beat)
            break;
        if (!rb_exact_make_path(x, &n.best, &changed, err))
            return false;
        if (changed) // what it costs and takes was a bound
            continue;
        struct rb_candidate c = rb_lattice_candidate(n.l, &n.best);
        if (!rb_exact_offer(x, &c, err))
            return false;
        if (rb_exact_to_beat(x) < to_beat)
            n.at = n.best;
        else
            n.refused[n.n_refused++] = n.best;
    }
    return true;
}
