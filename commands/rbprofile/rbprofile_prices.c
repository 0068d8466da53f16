// rbprofile prices: shows the prices in the store, and updates them from a file or from the clouds themselves.
#include "commands/rbprofile/rbprofile_command.h"

#include "base/clock.h"
#include "base/errors/log.h"
#include "executor/campaign/price_fetch.h"
#include "profiles/catalog/infra.h"
#include "profiles/inputs/plan_inputs.h"
#include "views/tables/profile_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- show ---

static const struct rb_option show_options[] = {
    {"infra", 0, RB_OPT_STRING, false, "INFRA", "only this provider, region or zone (aws, aws/us-east-1, ...)", 0, 0},
    RB_DB_OPTION,
    RB_JSON_OPTION,
    RB_END_OPTIONS};

static bool print_prices(const struct rb_args *args, const struct rb_catalog *prices, const char *infra,
                         struct rb_err *err)
{
    struct rb_buf out = RB_BUF_INIT;
    if (rb_args_flag(args, "json"))
        rb_show_prices_json(prices, infra, &out);
    else
        rb_show_prices(prices, infra, rb_clock_unix_us(), &out);
    return rb_print(&out, err);
}

static bool has_prices(const struct rb_catalog *prices, const char *infra)
{
    bool found = false;
    for (int i = 0; i < prices->n_offers && !found; i++)
        found = rb_infra_within(prices->offers[i].infra, infra);
    for (int i = 0; i < prices->n_disks && !found; i++)
        found = rb_infra_within(prices->disks[i].infra, infra);
    return found;
}

static bool run_show(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_profile_close_store) struct rb_store *store = NULL;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_catalog prices;
    const char *infra = rb_args_string(args, "infra", NULL);
    if (infra && strcmp(infra, "*") != 0 && !rb_infra_check(infra, err))
        return rb_err_prefix(err, "--infra");
    if (!rb_profile_open_store(args, true, &store, err) || !rb_store_prices(store, &arena, &prices, err))
        return false;
    if (!has_prices(&prices, infra ? infra : "*"))
        rb_info("no price%s%s is known; `rbprofile prices update` brings them in", infra ? " of " : "",
                infra ? infra : "");
    return print_prices(args, &prices, infra, err);
}

static const struct rb_command show_command = {
    .name = "rbprofile prices show",
    .usage = "[options]",
    .summary = "Lists the prices in the profile store, with their age and source.",
    .examples = "  rbprofile prices show\n  rbprofile prices show --infra aws/us-east-1 --json\n",
    .options = show_options,
    .run = run_show,
};

// --- update ---

static const struct rb_option update_options[] = {
    {"from", 0, RB_OPT_STRING, false, "FILE", "prices-csv to take them from; same machine and market replaces", 0, 0},
    {"infra", 0, RB_OPT_STRING, false, "INFRA",
     "ask this region's cloud: aws/us-east-1, gcp/us-central1, ...; on demand and spot. k8s/NAME: price its pods by "
     "its nodes",
     0, 0},
    {"instance-type", 0, RB_OPT_STRING, true, "T",
     "with --infra: this machine (repeatable; default: those that have a price there, on aws else all)", 0, 0},
    RB_DB_OPTION,
    RB_JSON_OPTION,
    RB_END_OPTIONS};

// One cloud's prices, on their way into the store.
struct update {
    const struct rb_args *args;
    struct rb_arena arena;
    const char *infra;
    const char **types; // [n_types]
    int n_types;
    struct rb_catalog known;
};

static void add_type(struct update *u, const char *type)
{
    for (int i = 0; i < u->n_types; i++)
        if (strcmp(u->types[i], type) == 0)
            return;
    u->types[u->n_types++] = type;
}

// The types on the command line, else those with a price in the store, which are fetched again.
static bool choose_types(struct update *u, struct rb_err *err)
{
    const struct rb_catalog *known = &u->known;
    int n = 0;
    if (!rb_stored_prices(rb_args_string(u->args, "db", NULL), &u->arena, &u->known, err))
        return false;
    while (rb_args_nth(u->args, "instance-type", n))
        n++;
    u->types = rb_arena_array(&u->arena, (size_t)(n + known->n_offers), sizeof *u->types);
    for (int i = 0; i < n; i++)
        add_type(u, rb_args_nth(u->args, "instance-type", i));
    for (int i = 0; n == 0 && i < known->n_offers; i++)
        if (rb_infra_within(known->offers[i].infra, u->infra))
            add_type(u, known->offers[i].instance_type);
    return true;
}

static bool print_update(struct update *u, const struct rb_catalog *c, struct rb_err *err)
{
    struct rb_buf out = RB_BUF_INIT;
    int n_spot = 0;
    if (rb_args_flag(u->args, "json"))
        return print_prices(u->args, c, NULL, err);
    for (int i = 0; i < c->n_offers; i++)
        n_spot += c->offers[i].market == RB_MARKET_SPOT;
    rb_buf_printf(&out, "%s: %d on-demand and %d spot prices\n", u->infra, c->n_offers - n_spot, n_spot);
    return rb_print(&out, err);
}

static bool keep(void *ctx, const struct rb_catalog *c, struct rb_err *err)
{
    struct update *u = ctx;
    RB_AUTO(rb_profile_close_store) struct rb_store *store = NULL;
    if (c->n_offers == 0)
        return rb_err_set(err, RB_E_CLOUD_PRICES, "%s: the cloud names no price; nothing was changed", u->infra);
    if (!rb_profile_open_store(u->args, false, &store, err) || !rb_store_begin(store, err))
        return false;
    if (!rb_store_put_prices(store, c, err) || !rb_store_commit(store, err)) {
        rb_store_rollback(store);
        return false;
    }
    return print_update(u, c, err);
}

static bool ask_cloud(const struct rb_args *args, const char *infra, struct rb_err *err)
{
    struct update u = {.args = args, .infra = infra};
    if (!rb_infra_check(infra, err))
        return rb_err_prefix(err, "--infra");
    const bool ok = choose_types(&u, err) && rb_prices_fetch(infra, u.types, u.n_types, &u.known, keep, &u, err);
    rb_arena_finish(&u.arena);
    return ok;
}

static bool run_update(const struct rb_args *args, struct rb_err *err)
{
    const char *from = rb_args_string(args, "from", NULL), *infra = rb_args_string(args, "infra", NULL);
    const struct rb_import_options options = {.format = RB_IMPORT_PRICES};
    if (!from == !infra)
        return rb_err_set(err, RB_E_WHERE_UNSAID,
                          "expected --from FILE, a prices-csv, or --infra INFRA, a cloud to ask (see rbprofile prices "
                          "update --help)");
    if (from && rb_args_nth(args, "instance-type", 0))
        return rb_err_set(err, RB_E_OPTION_ALONE, "--instance-type goes with --infra; a file is taken whole");
    return infra ? ask_cloud(args, infra, err) : rb_profile_import_files(args, &from, 1, &options, err);
}

static const struct rb_command update_command = {
    .name = "rbprofile prices update",
    .usage = "--from FILE | --infra INFRA [options]",
    .summary = "Puts prices into the profile store, from a file or from the cloud itself.",
    .examples =
        "  rbprofile prices update --from prices.csv\n"
        "  rbprofile prices update --infra aws/us-east-1 --instance-type g5.xlarge --instance-type p4d.24xlarge\n"
        "  rbprofile prices update --infra gcp/us-central1\n",
    .options = update_options,
    .run = run_update,
};

static const struct rb_option prices_options[] = {RB_DB_OPTION, RB_JSON_OPTION, RB_END_OPTIONS};

static const struct rb_subcommand subcommands[] = {
    {"show", "list prices with their age", &show_command},
    {"update", "update prices from a file or from a cloud", &update_command},
    {"history", "what spot machines cost over time", &rb_profile_history},
    {0},
};

const struct rb_command rb_profile_prices = {
    .name = "rbprofile prices",
    .usage = "show|update|history [options]",
    .summary = "Prices of machines and disks.",
    .examples = "  rbprofile prices update --infra aws/us-east-1\n  rbprofile prices show --infra aws\n",
    .options = prices_options,
    .subcommands = subcommands,
};
