// The nodes of a trace: their number and price. --nodes may be given several times, with a price beside each; nodes of
// all prices train alike.
#include "commands/rbsim/rbsim_trace.h"

#include "base/limits.h"
#include "base/errors/log.h"
#include "base/text/number.h"
#include "profiles/catalog/catalog.h"

#include <stdlib.h>
#include <string.h>

static void finish_csv(struct rb_csv *csv)
{
    rb_csv_finish(csv);
}

// ---- a price list

struct price_list {
    struct rb_arena arena;
    struct rb_csv csv;
    struct rb_catalog catalog;
};

static void finish_list(struct price_list *list)
{
    finish_csv(&list->csv);
    rb_arena_finish(&list->arena);
}

static const struct rb_offer *cheapest(const struct rb_catalog *catalog, const char *type)
{
    const struct rb_offer *best = NULL;
    for (int i = 0; i < catalog->n_offers; i++) {
        const struct rb_offer *o = &catalog->offers[i];
        if (o->market == RB_MARKET_ON_DEMAND && strcmp(o->instance_type, type) == 0 &&
            (!best || o->rate.uusd_per_hour < best->rate.uusd_per_hour))
            best = o;
    }
    return best;
}

static bool find_in_list(struct rb_sim_trace *t, const struct rb_catalog *catalog, const char *path, const char *type,
                         bool gpus_are_known, struct rb_rate *out, struct rb_err *err)
{
    const struct rb_offer *offer = cheapest(catalog, type);
    if (!offer)
        return rb_err_set(err, RB_E_PRICE_UNKNOWN, "%s: no on-demand price of the instance type %.60s", path, type);
    if ((gpus_are_known && offer->gpus != t->options.gpus_per_node) || offer->gpus < 1)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--instance-type %.60s has %d GPUs, %s %d", type, offer->gpus,
                          rb_args_nth(t->args, "gpus-per-node", 0) ? "--gpus-per-node says" : "the first one",
                          t->options.gpus_per_node);
    t->options.gpus_per_node = offer->gpus;
    *out = offer->rate;
    rb_info("nodes are %s of %s", type, offer->infra);
    return true;
}

// ---- the nodes of each price

static int n_given(const struct rb_args *args, const char *name)
{
    int n = 0;
    while (rb_args_nth(args, name, n))
        n++;
    return n;
}

struct kind {
    int64_t n_nodes;
    struct rb_rate rate; // of a node
};

static int by_rate(const void *pa, const void *pb)
{
    const struct kind *a = pa, *b = pb;
    return (a->rate.uusd_per_hour > b->rate.uusd_per_hour) - (a->rate.uusd_per_hour < b->rate.uusd_per_hour);
}

static bool read_counts(struct rb_sim_trace *t, struct kind *kinds, int n, struct rb_err *err)
{
    int64_t all = 0;
    for (int i = 0; i < n; i++) {
        const char *text = rb_args_nth(t->args, "nodes", i);
        kinds[i].n_nodes = t->options.n_nodes;
        if (text && (!rb_parse_int(text, &kinds[i].n_nodes) || kinds[i].n_nodes < 1))
            return rb_err_set(err, RB_E_OPTION_VALUE, "--nodes: expected a whole number of at least 1, got %.40s",
                              text);
        all += kinds[i].n_nodes;
    }
    if (all > RB_LIMIT_NODES)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--nodes: expected at most %d together, got %lld", RB_LIMIT_NODES,
                          (long long)all);
    t->options.n_nodes = (int)all;
    return true;
}

static bool read_list(struct rb_sim_trace *t, const char *path, struct kind *kinds, int n, struct rb_err *err)
{
    RB_AUTO(finish_list) struct price_list list = {0};
    if (!rb_csv_read(&list.csv, path, err) || !rb_catalog_from_csv(&list.csv, &list.arena, &list.catalog, err))
        return false;
    bool known = rb_args_nth(t->args, "gpus-per-node", 0);
    for (int i = 0; i < n; i++, known = true) {
        const char *type = rb_args_nth(t->args, "instance-type", i);
        if (!find_in_list(t, &list.catalog, path, type, known, &kinds[i].rate, err))
            return false;
    }
    return true;
}

static bool read_rates(struct rb_sim_trace *t, struct kind *kinds, int n, struct rb_err *err)
{
    for (int i = 0; i < n; i++) {
        struct rb_rate of_gpu;
        if (!rb_parse_rate(rb_args_nth(t->args, "usd-per-gpu-hour", i), false, &of_gpu, err))
            return rb_err_prefix(err, "--usd-per-gpu-hour");
        kinds[i].rate.uusd_per_hour = of_gpu.uusd_per_hour * t->options.gpus_per_node;
    }
    return true;
}

static void list_rates(struct rb_sim_trace *t, struct kind *kinds, int n)
{
    int node = 0;
    qsort(kinds, (size_t)n, sizeof *kinds, by_rate);
    t->rates = rb_xcalloc((size_t)t->options.n_nodes, sizeof *t->rates);
    for (int i = 0; i < n; i++) {
        for (int64_t k = 0; k < kinds[i].n_nodes; k++)
            t->rates[node++] = kinds[i].rate;
    }
    t->options.rates = t->rates;
}

bool rb_sim_trace_read_nodes(struct rb_sim_trace *t, struct rb_err *err)
{
    const char *list = rb_args_string(t->args, "prices", NULL);
    const int n_counts = n_given(t->args, "nodes"), n = n_counts > 1 ? n_counts : 1;
    const int n_rates = n_given(t->args, "usd-per-gpu-hour"), n_types = n_given(t->args, "instance-type");
    RB_AUTO(rb_auto_free) struct kind *kinds = rb_xcalloc((size_t)n, sizeof *kinds);
    if ((list != NULL) != (n_types > 0) || (n_rates > 0 && list))
        return rb_err_set(err, RB_E_OPTION_ALONE,
                          "--trace: expected --prices FILE with --instance-type T, or --usd-per-gpu-hour, or no price");
    if (n_rates + n_types != n && (n > 1 || n_rates + n_types > 1))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                          "--trace: expected a price beside each --nodes, got %d and %d: pass --nodes 8 "
                          "--usd-per-gpu-hour 0.5 --nodes 24 --usd-per-gpu-hour 1.2",
                          n_rates + n_types, n_counts);
    if (!read_counts(t, kinds, n, err))
        return false;
    if (!list && n_rates == 0)
        return true;
    if (list ? !read_list(t, list, kinds, n, err) : !read_rates(t, kinds, n, err))
        return false;
    list_rates(t, kinds, n);
    return true;
}
