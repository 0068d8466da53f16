#include "packing_groups.h"

#include "base/stream.h"

#include <assert.h>
#include <math.h>

const char *rb_study_curve_name(enum rb_study_curve curve)
{
    static const char *const names[RB_N_CURVES] = {"overhead", "no free lunch", "ideal"};
    return names[curve];
}

static int between(struct rb_stream *s, int least, int most)
{
    return least + (int)rb_stream_below(s, (uint64_t)(most - least + 1));
}

// ---- widths and what they cost

static double share_factor(const struct rb_study_group *g, int sharers)
{
    switch (g->curve) {
    case RB_CURVE_OVERHEAD:
        return pow(g->alpha, sharers - 1);
    case RB_CURVE_NO_FREE_LUNCH:
        return sharers;
    default:
        return 1;
    }
}

static void add_width(struct rb_study_group *g, int gpus, int sharers)
{
    const double factor = sharers > 1 ? share_factor(g, sharers) : pow(g->beta, gpus - 1) / gpus;
    g->widths[g->group.n_widths] = (struct rb_width){gpus, sharers};
    g->factor[g->group.n_widths++] = factor;
}

static void draw_widths(struct rb_stream *s, struct rb_study_group *g)
{
    const int most_sharers = between(s, 1, 6), most_gpus = between(s, 1, 8);
    const bool powers = rb_stream_below(s, 2) == 0;
    g->curve = (enum rb_study_curve)rb_stream_below(s, RB_N_CURVES);
    g->alpha = g->curve == RB_CURVE_OVERHEAD && most_sharers > 1 ? 1 + rb_stream_uniform(s) / (most_sharers - 1) : 1;
    g->beta = g->curve == RB_CURVE_IDEAL ? 1 : 1 + rb_stream_uniform(s) / most_gpus;
    for (int p = most_sharers; p > 1; p--)
        add_width(g, 1, p);
    for (int gpus = 1; gpus <= most_gpus; gpus = powers ? 2 * gpus : gpus + 1)
        add_width(g, gpus, 1);
}

static void measure_caps(struct rb_study_group *g)
{
    double slowdowns[RB_STUDY_MOST_WIDTHS] = {1}, speedups[RB_STUDY_MOST_WIDTHS];
    int sizes[RB_STUDY_MOST_WIDTHS], n_sizes = 0, n_shares = 1;
    for (int w = 0; w < g->group.n_widths; w++) {
        if (g->widths[w].sharers > 1) {
            slowdowns[g->widths[w].sharers - 1] = g->factor[w];
            n_shares++;
        } else {
            sizes[n_sizes] = g->widths[w].gpus;
            speedups[n_sizes++] = 1 / g->factor[w];
        }
    }
    g->caps.most_sharers = rb_fluid_most_sharers(slowdowns, n_shares, RB_FLUID_THRESHOLD);
    g->caps.most_gpus = rb_fluid_most_gpus(sizes, speedups, n_sizes, RB_FLUID_THRESHOLD);
}

// ---- trials

enum lengths { EQUAL, UNIFORM, LOGNORMAL, TWO_KINDS, N_LENGTHS };

static double length_s(struct rb_stream *s, enum lengths lengths, double spread)
{
    const double u = rb_stream_uniform(s), v = rb_stream_uniform(s);
    switch (lengths) {
    case UNIFORM:
        return 1000 * (0.05 + 0.95 * u);
    case LOGNORMAL: // Box and Muller
        return 300 * exp(spread * sqrt(-2 * log(u)) * cos(2 * acos(-1.0) * v));
    case TWO_KINDS:
        return u < 0.15 ? 1000 + 200 * v : 60 + 20 * v;
    default:
        return 500;
    }
}

static void draw_trials(struct rb_stream *s, struct rb_study_group *g)
{
    const enum lengths lengths = (enum lengths)rb_stream_below(s, N_LENGTHS);
    const double spread = 0.2 + 1.2 * rb_stream_uniform(s);
    const bool budgets_differ = rb_stream_below(s, 2) == 0;
    for (int i = 0; i < g->group.n_trials; i++) {
        const double single_us = 1e6 * length_s(s, lengths, spread);
        const int units = budgets_differ ? between(s, 1, 20) : 10;
        g->unit_us[i] = (int64_t)(single_us / units) + 1;
        for (int w = 0; w < g->group.n_widths; w++)
            g->height_us[i * g->group.n_widths + w] = (int64_t)ceil(single_us * g->factor[w]);
    }
}

void rb_study_group_draw(uint64_t seed, uint32_t index, int most_trials, struct rb_study_group *out)
{
    static const int per_node[] = {0, 4, 8}; // 0: one node
    struct rb_stream s;
    struct rb_err err;
    assert(most_trials <= RB_STUDY_MOST_TRIALS);
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .index = index});
    *out = (struct rb_study_group){0};
    out->group.n_trials = between(&s, 1, most_trials);
    const int n_gpus = between(&s, 4, 32), node_gpus = per_node[rb_stream_below(&s, 3)];
    out->group.node_gpus = node_gpus && n_gpus >= node_gpus ? node_gpus : n_gpus;
    out->group.n_nodes = n_gpus / out->group.node_gpus;
    draw_widths(&s, out);
    measure_caps(out);
    draw_trials(&s, out);
    out->group.widths = out->widths;
    out->group.height_us = out->height_us;
    const bool sound = rb_pack_group_check(&out->group, &err);
    assert(sound);
    (void)sound;
}
