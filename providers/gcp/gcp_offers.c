// Finds the present prices of machine types, on demand and on the spot market: the machines from Compute Engine, the
// prices of their parts from Cloud Billing's list. At least one type. A type without an on-demand price is an error; one
// without a spot price has no spot offer.
// One question per type, then the price list page by page (some ten, of megabytes), then the sums. Asked rarely, so it
// may take a minute.
#include "providers/gcp/gcp_encode.h"
#include "providers/gcp/gcp_prices.h"
#include "providers/gcp/gcp_verbs.h"
#include "providers/wire/percent.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 3, MAX_PAGES = 100, MAX_PAGE_TOKEN = 512, MAX_TYPES = 64 };

// Compute Engine's.
#define PRICE_LIST "/services/6F81-5844-456A/skus?currencyCode=USD&pageSize=5000&pageToken=%s"
static const int64_t page_timeout_us = INT64_C(120000000);

struct survey {
    struct rb_arena arena;
    const struct rb_gcp *gcp;
    const char *infra;
    int64_t asked_unix_us;
    struct rb_gcp_priced machines[MAX_TYPES];
    int n_machines, at, n_pages;
    char next_page[MAX_PAGE_TOKEN];
    struct rb_err price_err; // an error in a page that a retry cannot fix; code NONE: none
    rb_offers_fn *fn;
    void *arg;
};

static void survey_failed(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    s->fn(s->arg, err, NULL);
    rb_api_state_free(s);
}

static struct rb_offer offer_of(const struct survey *s, const struct rb_gcp_priced *p, enum rb_market market,
                                struct rb_rate rate)
{
    return (struct rb_offer){
        .infra = s->infra,
        .instance_type = p->instance_type,
        .accelerator = p->accelerator,
        .gpus = p->gpus > 0 ? (int)p->gpus : 1, // a slot
        .gpu_memory_gb = p->gpu_memory_gb,
        .vcpus = (double)p->cpus,
        .memory_gb = (double)p->memory_mib / 1024,
        .market = market,
        .rate = rate,
        .source = "Cloud Billing price list",
        .fetched_at_us = s->asked_unix_us,
    };
}

static int by_type(const void *a, const void *b)
{
    const struct rb_gcp_priced *x = a, *y = b;
    return strcmp(x->instance_type, y->instance_type);
}

static void all_priced(struct survey *s)
{
    struct rb_offer offers[2 * MAX_TYPES];
    struct rb_catalog catalog = {.offers = offers};
    struct rb_rate rate;
    struct rb_err err;
    qsort(s->machines, (size_t)s->n_machines, sizeof s->machines[0], by_type);
    for (int i = 0; i < s->n_machines; i++) {
        const struct rb_gcp_priced *p = &s->machines[i];
        if (!rb_gcp_priced_rate(p, RB_MARKET_ON_DEMAND, &rate, &err)) {
            survey_failed(s, &err);
            return;
        }
        offers[catalog.n_offers++] = offer_of(s, p, RB_MARKET_ON_DEMAND, rate);
        if (rb_gcp_priced_rate(p, RB_MARKET_SPOT, &rate, NULL))
            offers[catalog.n_offers++] = offer_of(s, p, RB_MARKET_SPOT, rate);
    }
    s->fn(s->arg, NULL, &catalog);
    rb_api_state_free(s);
}

// --- the price list ---

// A price that makes no sense is still an answer: a retry would bring the same one.
static bool decode_page(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    struct rb_err why = {0};
    s->price_err = (struct rb_err){0};
    if (rb_gcp_priced_page(body, n, s->gcp->region, s->machines, s->n_machines, s->next_page, &why))
        return true;
    *(why.code == RB_ERR_PRICE ? &s->price_err : err) = why;
    return why.code == RB_ERR_PRICE;
}

static void ask_page(struct survey *s);

static void page_done(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    struct rb_err endless;
    if (err || s->price_err.code != RB_ERR_NONE) {
        survey_failed(s, err ? err : &s->price_err);
    } else if (s->next_page[0] == '\0') {
        all_priced(s);
    } else if (++s->n_pages == MAX_PAGES) {
        rb_err_set(&endless, RB_E_ENDLESS, "services.skus.list: no end after %d pages", MAX_PAGES);
        survey_failed(s, &endless);
    } else {
        ask_page(s);
    }
}

static void ask_page(struct survey *s)
{
    struct rb_api_call call = rb_api_call_new("services.skus.list", TRIES, s, decode_page, page_done);
    rb_percent_put(&call.target, PRICE_LIST, s->next_page[0] ? s->next_page : NULL);
    call.timeout_us = page_timeout_us;
    rb_google_send(s->gcp->client, RB_GOOGLE_BILLING, &call);
}

// --- the machines ---

static bool decode_machine(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    struct rb_err why = {0};
    s->price_err = (struct rb_err){0};
    if (rb_gcp_priced_machine(body, n, s->gcp->region, &s->machines[s->at], &why))
        return true;
    const bool is_answer = why.code == RB_ERR_PRICE || why.code == RB_ERR_NOT_FOUND;
    *(is_answer ? &s->price_err : err) = why;
    return is_answer;
}

static void ask_machine(struct survey *s);

static void machine_done(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    if (err || s->price_err.code != RB_ERR_NONE)
        survey_failed(s, err ? err : &s->price_err);
    else if (++s->at < s->n_machines)
        ask_machine(s);
    else
        ask_page(s);
}

static void ask_machine(struct survey *s)
{
    struct rb_gcp_machine_type type;
    rb_gcp_machine_type_parse(s->machines[s->at].instance_type, &type, NULL); // it was parsed before
    type.n_accelerators = 0;                                                  // the machine itself
    struct rb_api_call call = rb_api_call_new("machineTypes.aggregatedList", TRIES, s, decode_machine, machine_done);
    rb_gcp_target_sold(s->gcp->project, &type, &call.target);
    rb_google_send(s->gcp->client, RB_GOOGLE_COMPUTE, &call);
}

static bool begin(struct survey *s, const char *const *types, int n_types, struct rb_err *err)
{
    if (n_types < 1 || n_types > MAX_TYPES)
        return rb_err_set(err, RB_E_OPTION_VALUE, "%s: %d machine types named, expected 1..%d (--instance-type)",
                          s->infra, n_types, MAX_TYPES);
    for (int i = 0; i < n_types; i++)
        if (!rb_gcp_priced_begin(rb_arena_strdup(&s->arena, types[i]), &s->machines[s->n_machines++], err))
            return false;
    return true;
}

void rb_gcp_offers(struct rb_provider *p, const char *const *types, int n_types, rb_offers_fn *fn, void *arg)
{
    const struct rb_gcp *gcp = p->state;
    struct survey *s = rb_api_state_create(sizeof *s);
    struct rb_err err;
    s->gcp = gcp;
    s->infra = rb_arena_printf(&s->arena, "gcp/%s", gcp->region);
    s->asked_unix_us = gcp->loop->unix_us(gcp->loop->ctx);
    s->fn = fn;
    s->arg = arg;
    if (begin(s, types, n_types, &err)) {
        ask_machine(s);
        return;
    }
    struct rb_api_call call = rb_api_call_new("services.skus.list", TRIES, s, NULL, survey_failed);
    rb_google_refuse(gcp->client, &call, &err);
}
