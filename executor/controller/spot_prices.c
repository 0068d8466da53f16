// What the run's spot machines cost: asked of clouds that list it, while the run has such machines and once more when the
// last of them has ended. Changes go into the journal, and all bills of a market's launches follow them (spend.h).
#include "executor/controller/controller_private.h"
#include "profiles/catalog/capacity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Clocks of a cloud and of this machine differ by less: requests would be refused.
#define SKEW_US (15 * 60 * RB_US_PER_S)
#define LISTINGS 12 // from one question to the next: of a real cloud a minute, the least that is billed. Under a budget: one

static const char *infra_of(const struct rb_run_cloud *cloud)
{
    return cloud->c->config.places[cloud - cloud->c->clouds].infra;
}

static bool lists_prices(const struct rb_run_cloud *cloud)
{
    return cloud->c->config.places[cloud - cloud->c->clouds].provider->ops->spot_history != NULL;
}

static bool is_on_market(const struct rb_run_cloud *cloud, const struct rb_run_node *n)
{
    return rb_run_node_has_row(n) && n->row.market_infra[0] && n->row.running_unix_us >= 0 &&
           strcmp(n->row.market, rb_market_name(RB_MARKET_SPOT)) == 0 &&
           rb_controller_infra_of(cloud->c, n->row.infra) == cloud - cloud->c->clouds;
}

// Is it billed for time since the last answer?
static bool is_open(const struct rb_run_cloud *cloud, const struct rb_run_node *n)
{
    return is_on_market(cloud, n) && (n->row.state != RB_LAUNCH_GONE || n->row.gone_us >= cloud->priced_us);
}

static bool has_open(const struct rb_run_cloud *cloud)
{
    for (int i = 0; i < rb_controller_n_launches(cloud->c); i++)
        if (is_open(cloud, rb_controller_launch_at(cloud->c, i)))
            return true;
    return false;
}

static struct rb_run_market *market_of(struct rb_controller *c, const struct rb_launch_row *row)
{
    int i = 0;
    while (i < c->n_markets && (strcmp(c->markets[i]->infra, row->market_infra) != 0 ||
                                strcmp(c->markets[i]->instance_type, row->instance_type) != 0))
        i++;
    if (i == c->n_markets) {
        c->markets = rb_grow(c->markets, c->n_markets, sizeof *c->markets);
        c->markets[c->n_markets++] = rb_xcalloc(1, sizeof **c->markets);
        memcpy(c->markets[i]->infra, row->market_infra, sizeof c->markets[i]->infra);
        memcpy(c->markets[i]->instance_type, row->instance_type, sizeof c->markets[i]->instance_type);
    }
    return c->markets[i];
}

static void append(struct rb_run_market *m, const struct rb_capacity_step *step)
{
    m->steps = rb_grow(m->steps, m->n, sizeof *m->steps);
    m->steps[m->n++] = *step;
}

static void follow(struct rb_run_node *n, const struct rb_run_market *m)
{
    n->row.prices = (struct rb_price_path){m->n > 0 ? m->steps : NULL, m->n, 0};
}

void rb_run_node_follow_journalled_prices(struct rb_run_node *n)
{
    if (!n->row.market_infra[0])
        return;
    struct rb_run_market *m = market_of(n->c, &n->row);
    for (int i = m->n; i < n->row.prices.n; i++)
        append(m, &n->row.prices.steps[i]);
    follow(n, m);
}

void rb_controller_free_markets(struct rb_controller *c)
{
    for (int i = 0; i < c->n_markets; i++) {
        free(c->markets[i]->steps);
        free(c->markets[i]);
    }
    free(c->markets);
}

static int by_market_and_time(const void *pa, const void *pb)
{
    const struct rb_spot_change *a = pa, *b = pb;
    const int zone = strcmp(a->zone, b->zone), type = strcmp(a->instance_type, b->instance_type);
    return zone ? zone : type ? type : (a->at_us > b->at_us) - (a->at_us < b->at_us);
}

static bool is_of(const struct rb_run_cloud *cloud, const struct rb_run_market *m, const struct rb_spot_change *change)
{
    const size_t n = strlen(infra_of(cloud));
    return strcmp(m->instance_type, change->instance_type) == 0 && strlen(m->infra) > n &&
           strcmp(m->infra + n + 1, change->zone) == 0;
}

// Changes of one market come in order of time. Into the open transaction; false: the journal failed.
static bool take_change(struct rb_run_cloud *cloud, const struct rb_spot_change *change)
{
    struct rb_controller *c = cloud->c;
    const struct rb_capacity_step step = {.at_us = change->at_us, .uusd_per_hour = change->uusd_per_hour};
    struct rb_err err;
    for (int i = 0; i < c->n_markets; i++) {
        struct rb_run_market *m = c->markets[i];
        const struct rb_capacity_step *last = m->n > 0 ? &m->steps[m->n - 1] : NULL;
        if (!is_of(cloud, m, change) ||
            (last && (step.at_us <= last->at_us || step.uusd_per_hour == last->uusd_per_hour)))
            continue;
        append(m, &step);
        if (!rb_controller_wrote(c, rb_journal_price(c->journal, m->infra, m->instance_type, &step, &err), &err))
            return false;
    }
    return true;
}

// Also of machines that do not run yet, as soon as a market has moved in memory.
static void follow_all(struct rb_controller *c)
{
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        struct rb_run_node *n = rb_controller_launch_at(c, i);
        if (rb_run_node_has_row(n) && n->row.market_infra[0])
            follow(n, market_of(c, &n->row));
    }
}

static bool rebill_ended(struct rb_run_cloud *cloud)
{
    struct rb_controller *c = cloud->c;
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        struct rb_run_node *n = rb_controller_launch_at(c, i);
        if (is_on_market(cloud, n) && n->row.state == RB_LAUNCH_GONE && !rb_run_node_rebill(n))
            return false;
    }
    return true;
}

static bool take_changes(struct rb_run_cloud *cloud, const struct rb_spot_change *all, int n)
{
    RB_AUTO(rb_auto_free) struct rb_spot_change *sorted = rb_xcalloc((size_t)n + 1, sizeof *sorted);
    bool ok = rb_controller_begin(cloud->c);
    if (n > 0)
        memcpy(sorted, all, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_market_and_time);
    for (int i = 0; ok && i < n; i++)
        ok = take_change(cloud, &sorted[i]);
    follow_all(cloud->c);
    return ok && rebill_ended(cloud) && rb_controller_commit(cloud->c);
}

static bool is_silent(const struct rb_run_cloud *cloud)
{
    return cloud->price_denied || cloud->price_failures >= RB_CONTROLLER_LEAK_TRIES;
}

// A missing right stays missing. A token is fetched again, and a clock that differs is learnt.
static bool stays(const struct rb_err *err)
{
    return err->code == RB_ERR_DENIED && rb_err_number(err) != RB_E_CREDENTIALS_EXPIRED;
}

static void take_failure(struct rb_run_cloud *cloud, const struct rb_err *err)
{
    cloud->price_failures++;
    cloud->price_denied = stays(err);
    if (is_silent(cloud) && !cloud->unpriced)
        rb_controller_note(cloud->c, "warning",
                           "%s does not say what spot machines cost now: %.300s; they are counted at the last known price, or at "
                           "the plan's",
                           infra_of(cloud), err->message);
    cloud->unpriced |= is_silent(cloud);
}

static void take_answer(struct rb_run_cloud *cloud, int64_t asked_us)
{
    if (cloud->unpriced)
        rb_controller_note(cloud->c, "warning", "%s says again what spot machines cost", infra_of(cloud));
    cloud->priced_us = asked_us;
    cloud->price_failures = 0;
    cloud->price_denied = cloud->unpriced = false;
}

static void ask_again(void *arg);

static void answered(void *arg, const struct rb_err *err, const struct rb_spot_change *all, int n)
{
    struct rb_run_call *call = arg;
    struct rb_controller *c = call->c;
    struct rb_run_cloud *cloud = &c->clouds[call->infra];
    const int64_t asked_us = call->asked_us;
    rb_run_call_end(call);
    cloud->pricing = false;
    if (c->dead || c->phase == RB_PHASE_OVER)
        return;
    if (err)
        take_failure(cloud, err);
    else if (take_changes(cloud, all, n))
        take_answer(cloud, asked_us);
    if (c->dead)
        return;
    const bool soon = c->meta.budget_uusd >= 0 && cloud->price_failures == 0;
    rb_controller_arm(c, &cloud->price_timer, (soon ? 1 : LISTINGS) * c->config.poll_us, ask_again, cloud);
    rb_controller_check_over(c);
}

// Every market is asked from the same instant on: the latest that is known of each, or one before the run began.
static int64_t list_types(const struct rb_run_cloud *cloud, const char **types, int *out_n)
{
    const struct rb_controller *c = cloud->c;
    int64_t from_us = INT64_MAX;
    *out_n = 0;
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        const struct rb_run_node *n = rb_controller_launch_at(c, i);
        if (!is_open(cloud, n))
            continue;
        const struct rb_price_path *known = &n->row.prices;
        const int64_t since_us = known->n > 0 ? known->steps[known->n - 1].at_us : c->meta.started_unix_us - SKEW_US;
        from_us = since_us < from_us ? since_us : from_us;
        bool listed = false;
        for (int k = 0; k < *out_n && !listed; k++)
            listed = strcmp(types[k], n->row.instance_type) == 0;
        if (!listed)
            types[(*out_n)++] = n->row.instance_type;
    }
    return from_us;
}

static void ask(struct rb_run_cloud *cloud)
{
    struct rb_controller *c = cloud->c;
    const int place = (int)(cloud - c->clouds);
    struct rb_provider *p = c->config.places[place].provider;
    RB_AUTO(rb_auto_free) const char **types = rb_xcalloc((size_t)rb_controller_n_launches(c) + 1, sizeof *types);
    int n_types;
    const int64_t from_us = list_types(cloud, types, &n_types);
    if (n_types == 0 || cloud->pricing || c->dead || c->phase == RB_PHASE_OVER)
        return;
    cloud->pricing = true;
    p->ops->spot_history(p, types, n_types, from_us, answered, rb_run_call_begin(c, RB_CALL_PRICES, NULL, place));
}

static void ask_again(void *arg)
{
    struct rb_run_cloud *cloud = arg;
    cloud->price_timer = 0;
    ask(cloud);
}

void rb_run_cloud_is_back(struct rb_run_cloud *cloud)
{
    if (cloud->price_denied || !is_silent(cloud) || cloud->pricing)
        return;
    cloud->price_failures = RB_CONTROLLER_LEAK_TRIES - 1;
    rb_controller_disarm(cloud->c, &cloud->price_timer);
    ask(cloud);
}

// At once: a controller that takes over may find the machine ended and forgotten. False: the journal failed.
static bool record_market(struct rb_run_node *n, const char *market)
{
    struct rb_controller *c = n->c;
    const bool alone = !c->in_transaction;
    struct rb_err err;
    strcpy(n->row.market_infra, market);
    market_of(c, &n->row); // answers are kept for the markets that are known
    return (!alone || rb_controller_begin(c)) &&
           rb_controller_wrote(c, rb_journal_market(c->journal, &n->row, &err), &err) &&
           (!alone || rb_controller_commit(c));
}

void rb_run_node_learn_market(struct rb_run_node *n, const char *zone)
{
    struct rb_controller *c = n->c;
    struct rb_run_cloud *cloud = &c->clouds[rb_controller_infra_of(c, n->row.infra)];
    char market[160];
    if (!lists_prices(cloud) || !zone || c->dead || strcmp(n->row.market, rb_market_name(RB_MARKET_SPOT)) != 0)
        return;
    snprintf(market, sizeof market, "%s/%.80s", infra_of(cloud), zone);
    if (!n->row.market_infra[0] && strlen(market) < sizeof n->row.market_infra && !record_market(n, market))
        return;
    if (is_on_market(cloud, n) && !cloud->price_timer && !cloud->pricing)
        ask(cloud);
}

bool rb_controller_prices_are_known(struct rb_controller *c)
{
    bool known = true;
    for (int i = 0; i < c->config.n_places; i++) {
        struct rb_run_cloud *cloud = &c->clouds[i];
        if (!lists_prices(cloud) || is_silent(cloud) || !has_open(cloud))
            continue;
        known = false;
        if (!cloud->pricing && (cloud->price_failures == 0 || !cloud->price_timer)) // a failure is given time to pass
            ask(cloud);
    }
    return known;
}
