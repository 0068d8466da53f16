#include "engine/sharing/pollux_survival.h"

#include "engine/sharing/pollux_vary.h"

#include <math.h>
#include <string.h>

int rb_pollux_dominance(const struct rb_pollux_member *a, const struct rb_pollux_member *b)
{
    const bool a_better = a->cost[0] < b->cost[0] || a->cost[1] < b->cost[1];
    const bool b_better = b->cost[0] < a->cost[0] || b->cost[1] < a->cost[1];
    return a_better - b_better;
}

// Ascending by the first cost, then the second, then the slot: a total order.
static bool comes_before(const struct rb_pollux_member *a, const struct rb_pollux_member *b)
{
    for (int i = 0; i < 2; i++) {
        if (a->cost[i] < b->cost[i] || a->cost[i] > b->cost[i])
            return a->cost[i] < b->cost[i];
    }
    return a->slot < b->slot;
}

// Merges runs of doubling length; qsort would ask for memory every generation.
static void sort_by_costs(struct rb_pollux_member *members, int n)
{
    struct rb_pollux_member merged[RB_POLLUX_SLOTS];
    for (int width = 1; width < n; width *= 2) {
        for (int start = 0; start < n; start += 2 * width) {
            const int middle = start + width < n ? start + width : n;
            const int end = start + 2 * width < n ? start + 2 * width : n;
            for (int a = start, b = middle, at = start; at < end; at++) {
                const bool from_a = b == end || (a < middle && comes_before(&members[a], &members[b]));
                merged[at] = from_a ? members[a++] : members[b++];
            }
        }
        memcpy(members, merged, (size_t)n * sizeof *members);
    }
}

// Members ascending by the first cost: in one front the second cost never rises, so a front dominates the next member
// if its last member does. Fronts are ordered: bisection finds the first that does not dominate.
static int front_of(const struct rb_pollux_member *m, struct rb_pollux_member *const *last, int n_fronts)
{
    int low = 0, high = n_fronts;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (rb_pollux_dominance(last[middle], m) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Stable: inside a front members stay ascending by the first cost. Returns the number of fronts; out_ends[f] is the end
// of f.
static int sort_into_fronts(struct rb_pollux_member *members, int n, int *out_ends)
{
    struct rb_pollux_member sorted[RB_POLLUX_SLOTS], *last[RB_POLLUX_SLOTS];
    int front[RB_POLLUX_SLOTS], n_fronts = 0;
    sort_by_costs(members, n);
    for (int i = 0; i < n; i++) {
        front[i] = front_of(&members[i], last, n_fronts);
        if (front[i] == n_fronts)
            out_ends[n_fronts++] = 0;
        last[front[i]] = &members[i];
        out_ends[front[i]]++;
    }
    int starts[RB_POLLUX_SLOTS];
    for (int f = 0, at = 0; f < n_fronts; f++) {
        starts[f] = at;
        at = out_ends[f] += at;
    }
    for (int i = 0; i < n; i++)
        sorted[starts[front[i]]++] = members[i];
    memcpy(members, sorted, (size_t)n * sizeof *members);
    return n_fronts;
}

static bool same_costs(const struct rb_pollux_member *a, const struct rb_pollux_member *b)
{
    return !(a->cost[0] < b->cost[0] || a->cost[0] > b->cost[0] || a->cost[1] < b->cost[1] || a->cost[1] > b->cost[1]);
}

// Half the sides of the box between its neighbours on the front, each as a part of the front's extent; infinite at the ends.
// Of equals the first represents all.
static void crowd(struct rb_pollux_member *front, int n)
{
    int distinct[RB_POLLUX_SLOTS], n_distinct = 0;
    for (int i = 0; i < n; i++) {
        front[i].crowding = n <= 2 ? INFINITY : 0;
        if (i == 0 || !same_costs(&front[i], &front[distinct[n_distinct - 1]]))
            distinct[n_distinct++] = i;
    }
    if (n <= 2)
        return;
    const struct rb_pollux_member *first = &front[0], *last = &front[distinct[n_distinct - 1]];
    for (int i = 0; i < n_distinct; i++) {
        struct rb_pollux_member *m = &front[distinct[i]];
        if (i == 0 || i == n_distinct - 1) {
            m->crowding = INFINITY;
            continue;
        }
        const struct rb_pollux_member *before = &front[distinct[i - 1]], *after = &front[distinct[i + 1]];
        m->crowding = ((after->cost[0] - before->cost[0]) / (last->cost[0] - first->cost[0]) +
                       (before->cost[1] - after->cost[1]) / (first->cost[1] - last->cost[1])) /
                      2;
    }
}

static void shuffle(struct rb_pollux_member *members, int n, struct rb_stream *draws)
{
    for (int i = n - 1; i > 0; i--) {
        const int at = rb_pollux_below(draws, i + 1);
        const struct rb_pollux_member m = members[i];
        members[i] = members[at];
        members[at] = m;
    }
}

// Ties are broken by the shuffle: the sort has to be stable, and insertion is, for the few dozen members of one front.
static void least_crowded_first(struct rb_pollux_member *front, int n, struct rb_stream *draws)
{
    shuffle(front, n, draws);
    for (int i = 1; i < n; i++) {
        const struct rb_pollux_member m = front[i];
        int at = i;
        for (; at > 0 && m.crowding > front[at - 1].crowding; at--)
            front[at] = front[at - 1];
        front[at] = m;
    }
}

int rb_pollux_survive(struct rb_pollux_member *members, int n, int n_kept, struct rb_stream *draws)
{
    int ends[RB_POLLUX_SLOTS];
    const int n_fronts = sort_into_fronts(members, n, ends);
    for (int f = 0, at = 0; f < n_fronts && at < n_kept; at = ends[f++]) {
        crowd(members + at, ends[f] - at);
        if (ends[f] > n_kept)
            least_crowded_first(members + at, ends[f] - at, draws);
    }
    return ends[0] < n_kept ? ends[0] : n_kept;
}
