#include "planner/request/options.h"

#include "planner/async/endless.h"
#include "planner/request/memory.h"
#include "planner/search/glance.h"

#include <math.h>
#include <stdlib.h>

#define EFFORT_TRIALS   6000000 // simulated trials for the tables: about a tenth of a second ...
#define CERTIFIED_PART  4       // ... and fewer if a certificate examines the space afterwards
#define EVENT_EFFORT    4       // a stage whose nodes may be lost is simulated event by event
#define WANTED_SAMPLES  256     // worth four times that: with fewer, plans on spot were found 2 % above the best
#define FEWEST_SAMPLES  64      // below this a pilot says too little about a probability
#define PILOT_SIGMA     2.0     // how far below the confidence asked a pilot still accepts a plan as feasible
#define MEANS_UNTIL     2       // multiple of the deadline: longer runs hardly affect any mean that matters
#define ENTRIES_AT_ONCE 256     // between two looks at the clock
#define ALL_COUNTS      24      // up to here every node count is considered

// --- which entries exist

bool rb_options_out_of_time(struct rb_options *o, int n_runs)
{
    o->cut = o->cut || !rb_search_has_time_for(o->search, (double)n_runs / o->n_stages);
    return o->cut;
}

// True if this many nodes end a wave of some stage exactly. Such counts are the corners of time against cost.
static bool is_corner(const struct rb_search *search, int offer, int nodes)
{
    const struct rb_sizes *sizes = &search->sizes[offer];
    for (int stage = 0; stage < search->scenario->stages.n; stage++) {
        for (int i = 0; i < sizes->n; i++) {
            int hold = rb_nodes_to_hold(rb_search_gpus_per_node(search, offer), rb_search_n_trials(search, stage),
                                        sizes->gpus[i]);
            for (int waves = 1; waves <= 4; waves++) {
                if ((hold + waves - 1) / waves == nodes)
                    return true;
            }
        }
    }
    return false;
}

// Thins out very many node counts: every one up to 12, then steps of a tenth, and the corners.
static bool count_is_listed(const struct rb_search *search, int offer, int nodes, int most)
{
    if (most <= ALL_COUNTS || nodes <= 12 || nodes == most)
        return true;
    return nodes % (nodes / 10) == 0 || is_corner(search, offer, nodes);
}

static int list_offer(struct rb_options *o, int stage, int offer, struct rb_option_entry *out)
{
    const struct rb_sizes *sizes = &o->search->sizes[offer];
    int per_node = rb_search_gpus_per_node(o->search, offer), n = 0;
    int most = 0;
    if (sizes->n > 0 && !rb_search_is_outbid(o->search, offer))
        most = rb_search_useful_nodes(o->search, stage, offer);
    for (int nodes = 1; nodes <= most; nodes++) {
        if (!count_is_listed(o->search, offer, nodes, most)) {
            o->thinned = true;
            continue;
        }
        for (int i = 0; i < sizes->n; i++) {
            if (rb_nodes_per_trial(per_node, sizes->gpus[i]) > nodes ||
                rb_is_endless(o->search, stage, offer, sizes->gpus[i]))
                continue;
            if (out)
                out[n] = (struct rb_option_entry){.choice = {offer, sizes->gpus[i], nodes}};
            n++;
        }
    }
    return n;
}

static void list_stage(struct rb_options *o, int stage)
{
    struct rb_stage_options *list = &o->stages[stage];
    int n = 0, n_offers = o->search->scenario->n_offers;
    for (int offer = 0; offer < n_offers; offer++)
        n += list_offer(o, stage, offer, NULL);
    list->entries = rb_xcalloc((size_t)n + 1, sizeof *list->entries);
    for (int offer = 0; offer < n_offers; offer++)
        list->n += list_offer(o, stage, offer, &list->entries[list->n]);
    for (int i = 0; i < n && !(i % ENTRIES_AT_ONCE == 0 && rb_options_out_of_time(o, 0)); i++) {
        struct rb_option_entry *e = &list->entries[i];
        e->by_kept = rb_xcalloc((size_t)e->choice.nodes + 1, sizeof *e->by_kept);
    }
}

// --- how many replicates the tables can afford

#define SIMULATED_KEPT 4 // numbers of inherited nodes that a pilot simulates: none, half, all but one, all

static bool may_lose_nodes(const struct rb_options *o, int offer)
{
    return rb_provisioning_may_lose(o->search->scenario->sim_offers[offer].provisioning);
}

static double trials_per_replicate(const struct rb_options *o, bool is_pilot)
{
    double trials = 0;
    for (int stage = 0; stage < o->n_stages; stage++) {
        double samples = 0;
        for (int i = 0; i < o->stages[stage].n; i++) {
            const struct rb_choice *c = &o->stages[stage].entries[i].choice;
            double kept = is_pilot && c->nodes > SIMULATED_KEPT ? SIMULATED_KEPT : c->nodes;
            double inherited = stage == 0 ? 1 : 2 + kept / o->search->sizes[c->offer].n;
            samples += inherited * (may_lose_nodes(o, c->offer) ? EVENT_EFFORT : 1);
        }
        trials += samples * (rb_search_n_trials(o->search, stage) + 4);
    }
    return trials;
}

double rb_cautious_confidence(double confidence, int n, int n_all)
{
    return n < n_all ? fmax(0, confidence - PILOT_SIGMA * sqrt(confidence * (1 - confidence) / n)) : confidence;
}

static void choose_samples(struct rb_options *o)
{
    const struct rb_plan_request *req = o->search->req;
    const double effort = rb_search_is_certified(o->search) ? EFFORT_TRIALS / CERTIFIED_PART : EFFORT_TRIALS;
    double confidence = rb_search_confidence(o->search);
    o->n_samples = req->samples;
    o->is_pilot = trials_per_replicate(o, false) * req->samples > effort && req->samples > FEWEST_SAMPLES;
    if (o->is_pilot) {
        double affordable = effort / trials_per_replicate(o, true);
        affordable = fmax(affordable, fmin(WANTED_SAMPLES, 4 * affordable));
        affordable = fmax(affordable, FEWEST_SAMPLES);
        o->n_samples = affordable < req->samples ? (int)affordable : req->samples;
        confidence = rb_cautious_confidence(confidence, o->n_samples, req->samples);
    }
    o->need = o->search->on_average ? o->n_samples : rb_need_count(confidence, o->n_samples);
}

// --- samples, and what they exclude

static bool sample(struct rb_options *o, int stage, struct rb_option_entry *e, int kept, struct rb_err *err)
{
    if (e->by_kept[kept])
        return true;
    if (rb_options_out_of_time(o, o->n_samples))
        return false;
    e->by_kept[kept] = rb_stage_samples_get(o->samples, stage, &e->choice, kept, err);
    return e->by_kept[kept] != NULL;
}

static bool never_slower(const struct rb_stage_sample *a, const struct rb_stage_sample *b, int n)
{
    for (int r = 0; r < n; r++) {
        if (a->time_us[r] > b->time_us[r])
            return false;
    }
    return true;
}

// a beats b on the same nodes: never slower when all nodes are new nor when all were kept. Of equal ones the earlier
// wins.
static bool beats(const struct rb_options *o, int stage, const struct rb_option_entry *a,
                  const struct rb_option_entry *b)
{
    if (a->choice.offer != b->choice.offer || a->choice.nodes != b->choice.nodes || a == b)
        return false;
    int all = a->choice.nodes;
    if (!never_slower(a->by_kept[0], b->by_kept[0], o->n_samples))
        return false;
    if (stage > 0 && !never_slower(a->by_kept[all], b->by_kept[all], o->n_samples))
        return false;
    return a < b || a->by_kept[0]->time_mean_us < b->by_kept[0]->time_mean_us;
}

// Fewer nodes that are never slower beat more nodes too, unless the additional ones are held for a later stage; that is
// left to the search. Here only the size changes, which does not affect later stages.
static bool drop_beaten(struct rb_options *o, int stage, struct rb_err *err)
{
    struct rb_stage_options *list = &o->stages[stage];
    for (int i = 0; i < list->n; i++) {
        struct rb_option_entry *e = &list->entries[i];
        if (!sample(o, stage, e, 0, err) || (stage > 0 && !sample(o, stage, e, e->choice.nodes, err)))
            return false;
    }
    RB_AUTO(rb_auto_free) bool *beaten = rb_xcalloc((size_t)list->n + 1, sizeof *beaten);
    for (int i = 0; i < list->n; i++) {
        for (int j = i - RB_LIMIT_GPUS_PER_NODE; j <= i + RB_LIMIT_GPUS_PER_NODE && !beaten[i]; j++)
            beaten[i] = j >= 0 && j < list->n && beats(o, stage, &list->entries[j], &list->entries[i]);
    }
    int kept = 0;
    for (int i = 0; i < list->n; i++) {
        if (beaten[i])
            free(list->entries[i].by_kept);
        else
            list->entries[kept++] = list->entries[i];
    }
    list->n = kept;
    return true;
}

// A pilot simulates the ends and the middle. The step from all nodes ready to all but one is a jump; the change between
// the other points is small.
static bool sample_or_interpolate(struct rb_options *o, int stage, struct rb_option_entry *e, int kept,
                                  struct rb_err *err)
{
    int all = e->choice.nodes, middle = all / 2;
    if (!o->is_pilot || kept == 0 || kept == middle || kept >= all - 1)
        return sample(o, stage, e, kept, err);
    if (e->by_kept[kept])
        return true;
    int low = kept < middle ? 0 : middle, high = kept < middle ? middle : all - 1;
    if (!sample(o, stage, e, low, err) || !sample(o, stage, e, high, err))
        return false;
    e->by_kept[kept] = rb_stage_samples_between(o->samples, stage, &e->choice, kept, low, high);
    return true;
}

// Every number of inherited nodes that some entry of the previous stage can hand over.
static bool sample_inheritances(struct rb_options *o, int stage, struct rb_err *err)
{
    for (int i = 0; i < o->stages[stage].n; i++) {
        struct rb_option_entry *e = &o->stages[stage].entries[i];
        for (int j = 0; j < o->stages[stage - 1].n; j++) {
            int kept = rb_choice_kept(&o->stages[stage - 1].entries[j].choice, &e->choice);
            if (!sample_or_interpolate(o, stage, e, kept, err))
                return false;
        }
    }
    return true;
}

// Arrays of samples: all choices with all numbers of nodes that they may inherit, simulated or interpolated.
static double count_cells(const struct rb_options *o)
{
    double cells = o->stages[0].n;
    for (int stage = 1; stage < o->n_stages; stage++) {
        const struct rb_stage_options *list = &o->stages[stage];
        for (int i = 0; i < list->n; i++)
            cells += 1 + (double)list->entries[i].choice.nodes / o->search->sizes[list->entries[i].choice.offer].n;
    }
    return cells;
}

// Uses fewer samples if they take too much memory, but not too few to estimate a probability.
static bool fit_into_memory(struct rb_options *o, struct rb_err *err)
{
    const double cells = count_cells(o), limit = rb_search_memory_for_tables(o->search);
    while (o->n_samples > FEWEST_SAMPLES && rb_table_bytes(cells, o->n_samples) > limit) {
        o->is_pilot = true;
        o->n_samples = o->n_samples / 2 > FEWEST_SAMPLES ? o->n_samples / 2 : FEWEST_SAMPLES;
        o->need = o->search->on_average ? o->n_samples
                                        : rb_need_count(rb_cautious_confidence(rb_search_confidence(o->search),
                                                                               o->n_samples, o->search->req->samples),
                                                        o->n_samples);
    }
    if (rb_table_bytes(cells, o->n_samples) <= limit)
        return true;
    return rb_err_set(
        err, RB_E_MEMORY_LIMIT,
        "tables of %.0f choices of machines and sizes need about %.0f MB, and the memory limit is %.0f MB: "
        "raise --memory-limit, or name fewer resources.instance_types",
        cells, rb_table_bytes(cells, o->n_samples) / 1e6, limit / 1e6);
}

static int count_entries(const struct rb_options *o)
{
    int n = 0;
    for (int stage = 0; stage < o->n_stages; stage++)
        n += o->stages[stage].n;
    return n;
}

bool rb_options_init(struct rb_options *o, struct rb_search *search, struct rb_err *err)
{
    *o = (struct rb_options){.search = search, .n_stages = search->scenario->stages.n};
    for (int stage = 0; stage < o->n_stages && !rb_options_out_of_time(o, 0); stage++)
        list_stage(o, stage);
    if (o->cut || rb_options_out_of_time(o, 2 * count_entries(o) * RB_GLANCE_SAMPLES))
        return true;
    if (!rb_glance(o, err)) {
        if (!o->cut)
            rb_options_finish(o);
        return o->cut;
    }
    choose_samples(o);
    if (!fit_into_memory(o, err)) {
        rb_options_finish(o);
        return false;
    }
    o->samples = rb_stage_samples_create(search, o->n_samples, o->need);
    rb_glance_limit(o, o->samples, MEANS_UNTIL);
    bool ok = true;
    for (int stage = 0; stage < o->n_stages && ok; stage++)
        ok = drop_beaten(o, stage, err);
    if (ok)
        rb_glance_again(o);
    for (int stage = 1; stage < o->n_stages && ok; stage++)
        ok = sample_inheritances(o, stage, err);
    if (!ok && !o->cut)
        rb_options_finish(o);
    return ok || o->cut;
}

void rb_options_finish(struct rb_options *o)
{
    for (int stage = 0; stage < o->n_stages; stage++) {
        for (int i = 0; i < o->stages[stage].n; i++)
            free(o->stages[stage].entries[i].by_kept);
        free(o->stages[stage].entries);
    }
    rb_stage_samples_destroy(o->samples);
    rb_stage_samples_destroy(o->check);
    rb_stage_samples_destroy(o->all);
    *o = (struct rb_options){0};
}

const struct rb_stage_sample *rb_option_sample(const struct rb_option_entry *before,
                                               const struct rb_option_entry *entry)
{
    return entry->by_kept[rb_choice_kept(before ? &before->choice : NULL, &entry->choice)];
}

struct rb_candidate rb_options_candidate(const struct rb_options *o, const struct rb_path *path)
{
    struct rb_candidate c = {.n_stages = o->n_stages};
    for (int stage = 0; stage < o->n_stages; stage++)
        c.stages[stage] = o->stages[stage].entries[path->entry[stage]].choice;
    return c;
}
