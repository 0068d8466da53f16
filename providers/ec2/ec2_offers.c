// Lists EC2's present offers: machine types joined with their prices, on demand (Price List) and on the spot market. One
// offer per type on demand, and one per type and zone on the spot market. No type named: all types; those without a price
// have no offer. A named type that is sold on demand but has no price there is an error (PRICE), as is one whose GPUs the
// API does not describe.
// Paged listings, one after the other: machines, on-demand prices (per type that was named, else of all), spot prices; then
// a join. Asked rarely (rbprofile prices update), so it may take seconds.
#include "providers/aws/aws_price_list.h"
#include "providers/ec2/ec2_decode.h"
#include "providers/ec2/ec2_encode.h"
#include "providers/ec2/ec2_verbs.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 3, MAX_PAGES = 1000 };

struct survey {
    struct rb_arena arena;
    struct rb_ec2 *ec2;
    struct rb_aws_client *price_list;
    const char **types;
    int n_types;
    int64_t asked_unix_us;
    int n_pages;
    struct rb_ec2_machines machines_page;
    struct rb_aws_prices on_demand_page;
    struct rb_ec2_spot_prices spot_page;
    struct rb_err price_err; // an error in a page of the price list that a retry cannot fix; code NONE: none
    int at;                  // the machine whose on-demand price is being fetched, if types were named
    struct rb_ec2_machine *machines;
    struct rb_offer *offers;
    int n_machines, n_offers;
    rb_offers_fn *fn;
    void *arg;
};

static void survey_destroy(void *arg)
{
    struct survey *s = arg;
    free(s->machines);
    free(s->offers);
    rb_api_state_free(s);
}

static void survey_failed(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    s->fn(s->arg, err, NULL);
    survey_destroy(s);
}

static void survey_succeeded(struct survey *s)
{
    struct rb_catalog catalog = {.offers = s->offers, .n_offers = s->n_offers};
    rb_catalog_sort(&catalog);
    s->fn(s->arg, NULL, &catalog);
    survey_destroy(s);
}

static bool too_many_pages(struct survey *s, const char *name)
{
    if (++s->n_pages < MAX_PAGES)
        return false;
    struct rb_err err;
    rb_err_set(&err, RB_E_ENDLESS, "%s: no end after %d pages", name, MAX_PAGES);
    survey_failed(s, &err);
    return true;
}

static struct rb_api_call new_call(const char *name, struct survey *s, rb_api_decode_fn *decode, rb_api_done_fn *done)
{
    struct rb_api_call call = rb_api_call_new(name, TRIES, s, decode, done);
    call.drop = survey_destroy;
    return call;
}

static const struct rb_ec2_machine *find_machine(const struct survey *s, const char *type)
{
    for (int i = 0; i < s->n_machines; i++)
        if (strcmp(s->machines[i].instance_type, type) == 0)
            return &s->machines[i];
    return NULL;
}

static bool is_known(const struct survey *s, const char *infra, const char *type)
{
    for (int i = 0; i < s->n_offers; i++)
        if (strcmp(s->offers[i].infra, infra) == 0 && strcmp(s->offers[i].instance_type, type) == 0)
            return true;
    return false;
}

static void add_offer(struct survey *s, const char *infra, const struct rb_ec2_machine *m, enum rb_market market,
                      struct rb_rate rate, const char *source)
{
    s->offers = rb_xrealloc(s->offers, (size_t)s->n_offers + 1, sizeof *s->offers);
    s->offers[s->n_offers++] = (struct rb_offer){
        .infra = infra,
        .instance_type = m->instance_type,
        .accelerator = m->accelerator,
        .gpus = m->gpus,
        .gpu_memory_gb = m->gpu_memory_gb,
        .vcpus = m->vcpus,
        .memory_gb = m->memory_gb,
        .market = market,
        .rate = rate,
        .source = source,
        .fetched_at_us = s->asked_unix_us,
    };
}

// --- spot prices ---

// Prices of types we did not ask for, or whose GPUs are not described, are no offers. Newest first: the first one counts.
static void add_spot_offer(struct survey *s, const struct rb_ec2_spot_price *price)
{
    const struct rb_ec2_machine *m = find_machine(s, price->instance_type);
    const char *infra = rb_arena_printf(&s->arena, "%s/%s", s->ec2->infra, price->zone);
    if (m && m->spot && !is_known(s, infra, price->instance_type))
        add_offer(s, infra, m, RB_MARKET_SPOT, price->rate, "DescribeSpotPriceHistory");
}

static bool decode_spot(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    return rb_ec2_decode_spot_prices(body, n, &s->arena, &s->spot_page, err);
}

static void ask_spot(struct survey *s, const char *page);

static void spot_done(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    if (err) {
        survey_failed(s, err);
        return;
    }
    for (int i = 0; i < s->spot_page.n; i++)
        add_spot_offer(s, &s->spot_page.prices[i]);
    if (!s->spot_page.next_page)
        survey_succeeded(s);
    else if (!too_many_pages(s, "DescribeSpotPriceHistory"))
        ask_spot(s, s->spot_page.next_page);
}

static void ask_spot(struct survey *s, const char *page)
{
    struct rb_api_call call = new_call("DescribeSpotPriceHistory", s, decode_spot, spot_done);
    rb_ec2_encode_spot_prices(s->types, s->n_types, s->asked_unix_us, page, &call.body);
    rb_aws_send(s->ec2->client, &call);
}

// --- on-demand prices ---

// A price that makes no sense is still an answer: a retry would bring the same one.
static bool decode_on_demand(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    struct rb_err why = {0};
    s->price_err = (struct rb_err){0};
    if (rb_aws_price_list_decode(body, n, s->ec2->region, &s->arena, &s->on_demand_page, &why))
        return true;
    *(why.code == RB_ERR_PRICE ? &s->price_err : err) = why;
    return why.code == RB_ERR_PRICE;
}

static void add_on_demand_offer(struct survey *s, const struct rb_aws_price *price)
{
    const struct rb_ec2_machine *m = find_machine(s, price->instance_type);
    if (!m || !m->on_demand)
        return;
    if (!is_known(s, s->ec2->infra, price->instance_type))
        add_offer(s, s->ec2->infra, m, RB_MARKET_ON_DEMAND, price->rate, "AWS Price List");
}

static void ask_on_demand(struct survey *s, const char *page);

// To the next machine that is sold on demand, from the present one on; then to the spot prices.
static void next_on_demand(struct survey *s)
{
    while (s->at < s->n_machines && !s->machines[s->at].on_demand)
        s->at++;
    if (s->at < s->n_machines)
        ask_on_demand(s, NULL);
    else
        ask_spot(s, NULL);
}

static bool has_price(struct survey *s, const struct rb_ec2_machine *m)
{
    if (is_known(s, s->ec2->infra, m->instance_type))
        return true;
    return rb_err_set(&s->price_err, RB_E_CLOUD_PRICES,
                      "%s: %s is sold on demand but AWS's price list has no price for it; import one (rbprofile import "
                      "prices.csv)",
                      s->ec2->infra, m->instance_type);
}

static void on_demand_done(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    if (err || s->price_err.code != RB_ERR_NONE) {
        survey_failed(s, err ? err : &s->price_err);
        return;
    }
    for (int i = 0; i < s->on_demand_page.n; i++)
        add_on_demand_offer(s, &s->on_demand_page.prices[i]);
    if (s->on_demand_page.next_page) {
        if (!too_many_pages(s, "GetProducts"))
            ask_on_demand(s, s->on_demand_page.next_page);
    } else if (s->n_types == 0) {
        ask_spot(s, NULL);
    } else if (has_price(s, &s->machines[s->at])) {
        s->at++;
        next_on_demand(s);
    } else {
        survey_failed(s, &s->price_err);
    }
}

static void ask_on_demand(struct survey *s, const char *page)
{
    struct rb_api_call call = new_call("GetProducts", s, decode_on_demand, on_demand_done);
    rb_aws_price_list_encode(s->ec2->region, s->n_types > 0 ? s->machines[s->at].instance_type : NULL, page,
                             &call.body);
    rb_aws_send(s->price_list, &call);
}

// --- machines ---

static bool decode_machines(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    return rb_ec2_decode_machines(body, n, &s->arena, &s->machines_page, err);
}

static void ask_machines(struct survey *s, const char *page);

// What was named is sold, or an error: leaving it out would read as "costs nothing worth mentioning".
static void machines_known(struct survey *s)
{
    struct rb_err err;
    for (int i = 0; i < s->n_types; i++)
        if (!find_machine(s, s->types[i])) {
            rb_err_set(&err, RB_E_CLOUD_PRICES,
                       "%s: EC2 does not describe the GPUs of a %s; import a price list that does (rbprofile import "
                       "prices.csv)",
                       s->ec2->infra, s->types[i]);
            survey_failed(s, &err);
            return;
        }
    if (s->n_types > 0)
        next_on_demand(s);
    else
        ask_on_demand(s, NULL);
}

static void machines_done(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    if (err) {
        survey_failed(s, err);
        return;
    }
    const struct rb_ec2_machines *page = &s->machines_page;
    if (page->n > 0) {
        s->machines = rb_xrealloc(s->machines, (size_t)(s->n_machines + page->n), sizeof *s->machines);
        memcpy(s->machines + s->n_machines, page->machines, (size_t)page->n * sizeof *s->machines);
        s->n_machines += page->n;
    }
    if (!page->next_page)
        machines_known(s);
    else if (!too_many_pages(s, "DescribeInstanceTypes"))
        ask_machines(s, page->next_page);
}

static void ask_machines(struct survey *s, const char *page)
{
    struct rb_api_call call = new_call("DescribeInstanceTypes", s, decode_machines, machines_done);
    rb_ec2_encode_machines(s->types, s->n_types, page, &call.body);
    rb_aws_send(s->ec2->client, &call);
}

static bool begin(struct survey *s, const char *const *types, int n_types, struct rb_err *err)
{
    if (n_types > RB_EC2_MAX_TYPES)
        return rb_err_set(err, RB_E_EC2_TYPES, "%s: %d instance types in one question, expected at most %d",
                          s->ec2->infra, n_types, RB_EC2_MAX_TYPES);
    s->types = rb_arena_array(&s->arena, (size_t)n_types, sizeof *s->types);
    for (s->n_types = 0; s->n_types < n_types; s->n_types++)
        s->types[s->n_types] = rb_arena_strdup(&s->arena, types[s->n_types]);
    s->price_list = rb_ec2_service(s->ec2, RB_EC2_PRICE_LIST, err);
    return s->price_list != NULL;
}

void rb_ec2_offers(struct rb_provider *p, const char *const *types, int n_types, rb_offers_fn *fn, void *arg)
{
    struct rb_ec2 *ec2 = p->state;
    struct survey *s = rb_api_state_create(sizeof *s);
    struct rb_err err;
    s->ec2 = ec2;
    s->asked_unix_us = ec2->loop->unix_us(ec2->loop->ctx);
    s->fn = fn;
    s->arg = arg;
    if (rb_aws_price_list_check(ec2->region, &err) && begin(s, types, n_types, &err)) {
        ask_machines(s, NULL);
        return;
    }
    struct rb_api_call call = new_call(NULL, s, NULL, survey_failed);
    rb_aws_refuse(ec2->client, &call, &err);
}
