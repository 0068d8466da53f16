#include "simulator/list_schedule/list_schedule_tail.h"

#include <math.h>

// What is negligible, times this, is shared by all slots: each of them is cut off some six times, so that all of them lose
// thirty times what is negligible at most.
#define DUST 5

// Times a chance that is dust: what is left out of an opening's law, at each of its many points.
#define OPENINGS 0.1

// P(end > t) beyond which many trials have to end at once: the integrand is that much narrower, and every age counts.
#define SHARP 0.8

// A node's starts: of one slot that opens late, or of all of its slots averaged over their opening.
static void node_starts(const struct rb_schedule_tail *e, const struct rb_schedule_late *late, int x, double *out_mean,
                        double *out_variance)
{
    if (e->linear) {
        rb_renewal_starts(&late->delayed, x, out_mean, out_variance);
        return;
    }
    const double c = e->s->slots_per_node;
    double first = 0, second = 0, mean, variance;
    for (int o = late->opening.first; o <= x && o <= late->opening.last; o += e->openings_apart) {
        const double weight = e->openings_apart * late->opening.weight[o];
        rb_renewal_starts(&e->open, x - o, &mean, &variance);
        first += weight * c * mean;
        second += weight * (c * variance + c * c * mean * mean);
    }
    *out_mean = first;
    *out_variance = second - first * first;
}

void rb_schedule_tail_starts(const struct rb_schedule_tail *e, int x, double *out_mean, double *out_variance)
{
    double mean = 0, variance = 0;
    if (e->s->open_slots > 0)
        rb_renewal_starts(&e->open, x, &mean, &variance);
    *out_mean = e->s->open_slots * mean;
    *out_variance = e->s->open_slots * variance;
    for (int i = 0; i < e->n_late; i++) {
        node_starts(e, &e->late[i], x, &mean, &variance);
        *out_mean += e->late[i].n * mean;
        *out_variance += e->late[i].n * variance;
    }
}

// Of a slot: age / mean + (1 + cv^2) / 2 for long ages, no more than age / mean + 1 if cv is small.
double rb_schedule_tail_one_node(const struct rb_schedule_tail *e, int x)
{
    const struct rb_law *law = e->trial->law;
    const double cv2 = law->variance_s2 / (law->mean_s * law->mean_s);
    return e->s->slots_per_node * (x * e->trial->step_s / law->mean_s + fmax(1, (1 + cv2) / 2));
}

static int width_of(const struct rb_renewal *r)
{
    return r->max_k - r->min_k + 1;
}

int rb_schedule_tail_width(const struct rb_schedule_tail *e)
{
    int width = e->slots ? width_of(&e->open) : 0;
    for (int i = 0; i < e->n_late && e->linear; i++)
        width += width_of(&e->late[i].delayed);
    return width;
}

// ---- the coefficient

static const double *table_at(struct rb_schedule_tail *e, int y)
{
    const int points = e->circle.points;
    if (!e->tables[y]) {
        e->tables[y] = rb_arena_room(e->arena, (size_t)e->circle.blocks * 2 * RB_CIRCLE_LANES, sizeof **e->tables);
        e->kernel->tabulate(&e->circle, e->trial->below[y], (points - (e->s->n_trials - 1) % points) % points,
                            e->tables[y]);
    }
    return e->tables[y];
}

// q1 < 0: W has next to nothing below z^n. The rest of the window is filled in by finish_window.
static struct rb_schedule_window window_at(const struct rb_schedule_tail *e, double mean, int y)
{
    const int points = e->circle.points, n = e->s->n_trials, lowest = (int)floor(mean + 0.5) - e->circle.below;
    struct rb_schedule_window w = {.f = e->trial->below[y], .above = e->trial->above[y]};
    w.q1 = n - 1 - (lowest > 0 ? lowest : 0);
    w.q0 = w.q1 - points + 1 > 0 ? w.q1 - points + 1 : 0;
    return w;
}

static void finish_window(struct rb_schedule_tail *e, int y, struct rb_schedule_window *w)
{
    const bool full = w->q0 > 0;
    w->f_q0 = rb_schedule_power(w->f, w->q0);
    w->f_q1 = w->f_q0 * rb_schedule_power(w->f, w->q1 + 1 - w->q0);
    w->one = full ? 0 : 1;
    w->a = (full ? w->f_q0 * (w->q0 + 1) : 0) - w->f_q1 * (w->q1 + 2);
    w->b = ((full ? w->f_q0 * w->q0 : 0) - w->f_q1 * (w->q1 + 1)) * w->f;
    w->turn = (w->q1 + 1) % e->circle.points;
    w->table = table_at(e, y);
}

static double weights_at_one(const struct rb_schedule_window *w)
{
    const double v = w->above;
    if (v * (w->q1 - w->q0) > 0.01) // the closed form below loses no more than four digits
        return (w->f_q0 * ((w->q0 + 1) * v + w->f) - w->f_q1 * ((w->q1 + 2) * v + w->f)) / (v * v);
    double total = 0, power_f = w->f_q0;
    for (int q = w->q0; q <= w->q1; q++, power_f *= w->f)
        total += (q + 1) * power_f;
    return total;
}

// The largest weight (q + 1) F^q with q >= least.
static double largest_weight(double below, double above, int least)
{
    const double q = above > 0 ? 1 / above : 1e18;
    return least >= q ? (least + 1) * exp(least * log(below)) : q < 2 ? 1 : q;
}

struct place { // where the integrand is computed: x until the last start, y left to the last trial
    int x, y;
    struct rb_schedule_starts slot;
    struct rb_schedule_factor late[RB_SCHEDULE_RANKED]; // [n_late]
    double total, mean;                                 // of all starts at z = 1, and their mean there
};

static void add_new_nodes(struct rb_schedule_tail *e, struct place *at)
{
    for (int i = 0; i < e->n_late; i++) {
        struct rb_schedule_factor *f = &at->late[i];
        if (!e->linear)
            rb_schedule_node_at(&e->node, at->x, at->y, &f->node);
        f->n = e->late[i].n;
        f->unopened = e->late[i].opening.unopened[at->x];
        const double total = f->unopened + f->node.total;
        at->total *= rb_schedule_power(total, f->n);
        at->mean += total > 0 ? f->n * f->node.mean * f->node.total / total : 0;
    }
}

// What the coefficient at a place counts by; a projected density may be negative beside an abrupt start.
static double scale_of(const struct rb_schedule_tail *e, const struct place *at)
{
    return e->weight[at->y] * e->trial->step_s;
}

static double coefficient(struct rb_schedule_tail *e, const struct rb_schedule_window *w, const struct place *at)
{
    const struct rb_schedule_terms terms = {
        .slot = &at->slot,
        .late = at->late,
        .n_slots = e->s->open_slots,
        .n_late = e->n_late,
        .dust = e->negligible / fabs(scale_of(e, at)),
    };
    return (at->total * weights_at_one(w) + e->kernel->coefficient(&e->circle, w, &terms)) / e->circle.points;
}

// Is what this place may contribute, its weights being from the q-th on, next to nothing?
static bool is_negligible(const struct rb_schedule_tail *e, const struct place *at, int q)
{
    const double most = largest_weight(e->trial->below[at->y], e->trial->above[at->y], q), n = e->s->n_trials;
    return fabs(scale_of(e, at)) * at->total * (most < n ? most : n) < e->negligible;
}

static double integrand(struct rb_schedule_tail *e, struct place *at)
{
    at->total = 1;
    at->mean = 0;
    if (e->s->open_slots > 0) {
        at->total = rb_schedule_power(at->slot.total, e->s->open_slots);
        at->mean = e->s->open_slots * at->slot.mean;
    }
    if (is_negligible(e, at, 0))
        return 0;
    add_new_nodes(e, at);
    struct rb_schedule_window w = window_at(e, at->mean, at->y);
    if (w.q1 < 0 || is_negligible(e, at, w.q0))
        return 0;
    finish_window(e, at->y, &w);
    w.endless = w.q0 == 0 && is_negligible(e, at, w.q1 + 1);
    return scale_of(e, at) * coefficient(e, &w, at);
}

static void fill(const struct rb_renewal *r, int t, int from, int to, int apart, struct rb_renewal_chances *chances)
{
    chances->from = from;
    chances->to = to;
    chances->apart = apart;
    rb_renewal_likely(r, chances);
    rb_renewal_fill(r, t, chances);
}

static struct rb_schedule_starts starts_of(const struct rb_renewal_chances *c, int i, double dust)
{
    return rb_schedule_trimmed(c->p + (size_t)i * (size_t)c->n_k, c->min_k + 1, c->min_k + c->n_k, dust);
}

// The integral as a sum over every so-many-th age first, first + apart, .. to.
static double sum_over_ages(struct rb_schedule_tail *e, int t, int first, int to, int apart)
{
    double sum = 0;
    if (e->s->open_slots > 0)
        fill(&e->open, t, first, to, apart, &e->chances);
    for (int i = 0; i < e->n_late && e->linear; i++)
        fill(&e->late[i].delayed, t, first, to, apart, &e->late[i].chances);
    for (int x = first; x <= to; x += apart) {
        struct place at;
        at.x = x;
        at.y = t - x;
        if (e->s->open_slots > 0)
            at.slot = starts_of(&e->chances, (x - first) / apart, e->dust);
        for (int i = 0; i < e->n_late && e->linear; i++)
            at.late[i].node = starts_of(&e->late[i].chances, (x - first) / apart, e->dust);
        sum += rb_lattice_end_weight(x) * integrand(e, &at);
    }
    return apart * sum;
}

double rb_schedule_tail_above(struct rb_schedule_tail *e, int t)
{
    const int n = e->s->n_trials, from = t - e->last_y > e->min_age ? t - e->last_y : e->min_age;
    const int to = t - e->first_y < e->max_age ? t - e->first_y : e->max_age;
    const double above = rb_trial_lattice_above(e->trial, t);
    const double none = above >= 1 ? 1 : -expm1(n * log1p(-above));
    if (e->min_age > 0 && t - e->last_y < e->min_age) // ages left out count here, and not all trials have started
        return 1;
    if (to < from)
        return none;
    const bool whole =
        from >= RB_LATTICE_ENDS || (t <= e->last_y && e->trial->slope[t] * e->trial->step_s * n < e->negligible);
    const int apart = whole ? e->apart : 1;
    e->weight = apart > 1 ? e->trial->slope : e->trial->density;
    const int first = from + (t - from - e->first_y) % apart; // the same times left for every t: new nodes keep theirs
    double sum = sum_over_ages(e, t, first, to, apart);
    if (apart > 1 && none + sum > SHARP) {
        for (int i = 1; i < apart; i++)
            sum += sum_over_ages(e, t, from + (first - from + i) % apart, to, apart);
        sum /= apart;
    }
    return none + sum;
}

// ---- making one

static const struct rb_schedule_kernel *choose_kernel(const struct rb_list_schedule *s)
{
#ifdef RB_SAMPLER_HAS_AVX2
    if (!s->plain && __builtin_cpu_supports("avx2"))
        return &rb_schedule_kernel_avx2;
#endif
    (void)s;
    return &rb_schedule_kernel_plain;
}

static bool make_late(struct rb_schedule_tail *e, size_t ages, const char **out_why)
{
    e->n_late = rb_schedule_n_late(e->s);
    e->late = rb_arena_array(e->arena, (size_t)e->n_late + 1, sizeof *e->late);
    for (int i = 0; i < e->n_late; i++) {
        struct rb_schedule_late *l = &e->late[i];
        l->n = e->s->new_nodes / e->n_late;
        rb_opening_lattice_make(rb_schedule_opening(e->s, i), e->trial->step_s, e->max_age + 1, OPENINGS * e->dust,
                                e->arena, &l->opening);
        if (!e->linear)
            continue;
        if (!rb_renewal_make(e->trial, &l->opening, e->min_age, e->max_age, e->dust, &e->kernel->convolver, e->arena,
                             &l->delayed, out_why))
            return false;
        l->chances.p = rb_arena_room(e->arena, ages * (size_t)width_of(&l->delayed), sizeof *l->chances.p);
    }
    return true;
}

bool rb_schedule_tail_make(const struct rb_list_schedule *s, const struct rb_trial_lattice *trial, int min_age,
                           int max_age, double negligible, struct rb_arena *arena, struct rb_schedule_tail *out,
                           const char **out_why)
{
    const double slots = s->open_slots + (double)s->new_nodes * s->slots_per_node;
    struct rb_schedule_tail e = {.s = s,
                                 .trial = trial,
                                 .min_age = min_age,
                                 .max_age = max_age,
                                 .negligible = negligible,
                                 .dust = DUST * negligible / slots,
                                 .arena = arena};
    const size_t ages = (size_t)(max_age < trial->last ? max_age : trial->last) + 1; // that have times left at one time
    e.kernel = choose_kernel(s);
    e.linear = s->new_nodes > 0 && s->slots_per_node == 1;
    e.first_y = trial->first > 0 ? trial->first : 1;
    e.last_y = trial->last;
    e.apart = e.openings_apart = e.cut_openings_apart = 1;
    if (!make_late(&e, ages, out_why))
        return false;
    e.slots = s->open_slots > 0 || !e.linear;
    if (e.slots) {
        if (!rb_renewal_make(trial, NULL, min_age, max_age, e.dust, &e.kernel->convolver, arena, &e.open, out_why))
            return false;
        e.chances.p = rb_arena_room(arena, ages * (size_t)width_of(&e.open), sizeof *e.chances.p);
    }
    *out = e;
    return true;
}

static void make_node(struct rb_schedule_tail *e)
{
    e->node = (struct rb_schedule_node){.slot = &e->open,
                                        .opening = &e->late[0].opening,
                                        .convolver = &e->kernel->convolver,
                                        .arena = e->arena,
                                        .slots = e->s->slots_per_node,
                                        .dust = e->dust,
                                        .first_y = e->first_y,
                                        .last_y = e->last_y,
                                        .apart = e->apart,
                                        .openings_apart = e->openings_apart,
                                        .cut_openings_apart = e->cut_openings_apart};
    rb_schedule_node_make(&e->node);
}

void rb_schedule_tail_set_circle(struct rb_schedule_tail *e, int points, int kept, int below)
{
    const bool nodes = e->s->new_nodes > 0;
    int fewest = e->slots ? e->open.min_k + 1 : e->late[0].delayed.min_k + 1;
    int most = e->slots ? e->open.max_k + 1 : 0;
    for (int i = 0; i < e->n_late && e->linear; i++) {
        const struct rb_renewal *r = &e->late[i].delayed;
        fewest = r->min_k + 1 < fewest ? r->min_k + 1 : fewest;
        most = r->max_k + 1 > most ? r->max_k + 1 : most;
    }
    if (nodes && !e->linear)
        most *= e->s->slots_per_node;
    e->circle = (struct rb_schedule_circle){.points = points, .kept = kept, .below = below};
    rb_schedule_circle_make(&e->circle, fewest, most, nodes ? e->s->slots_per_node : 0, e->arena);
    e->tables = rb_arena_array(e->arena, (size_t)e->last_y + 1, sizeof *e->tables);
    if (nodes && !e->linear)
        make_node(e);
}
