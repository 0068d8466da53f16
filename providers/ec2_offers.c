// Two paged listings, one after the other, then a join. Asked rarely (rbprofile prices update), so it may take seconds.
#include "providers/ec2_offers.h"

#include "base/arena.h"
#include "providers/ec2_decode.h"
#include "providers/ec2_encode.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 3, MAX_PAGES = 1000 };

struct survey {
    struct rb_aws_client *client;
    struct rb_arena arena;
    const char *infra;
    const char **types;
    int n_types;
    int64_t asked_unix_us;
    int n_pages;
    struct rb_ec2_machines machines_page;
    struct rb_ec2_spot_prices prices_page;
    struct rb_ec2_machine *machines;
    struct rb_offer *offers;
    int n_machines, n_offers;
    rb_offers_fn *fn;
    void *arg;
};

static void survey_destroy(void *arg)
{
    struct survey *s = arg;
    rb_arena_finish(&s->arena);
    free(s->machines);
    free(s->offers);
    free(s);
}

static void survey_failed(struct survey *s, const struct rb_err *err)
{
    s->fn(s->arg, err, NULL);
    survey_destroy(s);
}

// The catalogue's canonical order.
static int by_infra_and_type(const void *a, const void *b)
{
    const struct rb_offer *x = a, *y = b;
    const int order = strcmp(x->infra, y->infra);
    return order != 0 ? order : strcmp(x->instance_type, y->instance_type);
}

static void survey_succeeded(struct survey *s)
{
    if (s->n_offers > 0)
        qsort(s->offers, (size_t)s->n_offers, sizeof *s->offers, by_infra_and_type);
    const struct rb_catalog catalog = {.offers = s->offers, .n_offers = s->n_offers};
    s->fn(s->arg, NULL, &catalog);
    survey_destroy(s);
}

static bool too_many_pages(struct survey *s, const char *name)
{
    if (++s->n_pages < MAX_PAGES)
        return false;
    struct rb_err err;
    rb_err_set(&err, RB_ERR_IO, "%s: no end after %d pages", name, MAX_PAGES);
    survey_failed(s, &err);
    return true;
}

static struct rb_api_call new_call(const char *name, struct survey *s)
{
    return (struct rb_api_call){
        .name = name, .content_type = RB_EC2_CONTENT_TYPE, .max_tries = TRIES, .arg = s, .drop = survey_destroy};
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

// Prices of types we did not ask for, or whose GPUs are not described, are no offers. Newest first: the first one counts.
static void add_offer(struct survey *s, const struct rb_ec2_spot_price *price)
{
    const struct rb_ec2_machine *m = find_machine(s, price->instance_type);
    const char *infra = rb_arena_printf(&s->arena, "%s/%s", s->infra, price->zone);
    if (!m || !m->spot || is_known(s, infra, price->instance_type))
        return;
    s->offers = rb_xrealloc(s->offers, (size_t)s->n_offers + 1, sizeof *s->offers);
    s->offers[s->n_offers++] = (struct rb_offer){
        .infra = infra,
        .instance_type = m->instance_type,
        .accelerator = m->accelerator,
        .gpus = m->gpus,
        .gpu_memory_gb = m->gpu_memory_gb,
        .vcpus = m->vcpus,
        .memory_gb = m->memory_gb,
        .market = RB_MARKET_SPOT,
        .rate = price->rate,
        .source = "DescribeSpotPriceHistory",
        .fetched_at_us = s->asked_unix_us,
    };
}

static bool decode_prices(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    return rb_ec2_decode_spot_prices(body, n, &s->arena, &s->prices_page, err);
}

static void ask_prices(struct survey *s, const char *page);

static void prices_done(void *arg, const struct rb_err *err)
{
    struct survey *s = arg;
    if (err) {
        survey_failed(s, err);
        return;
    }
    for (int i = 0; i < s->prices_page.n; i++)
        add_offer(s, &s->prices_page.prices[i]);
    if (!s->prices_page.next_page)
        survey_succeeded(s);
    else if (!too_many_pages(s, "DescribeSpotPriceHistory"))
        ask_prices(s, s->prices_page.next_page);
}

static void ask_prices(struct survey *s, const char *page)
{
    struct rb_api_call call = new_call("DescribeSpotPriceHistory", s);
    rb_ec2_encode_spot_prices(s->types, s->n_types, s->asked_unix_us, page, &call.body);
    call.decode = decode_prices;
    call.done = prices_done;
    rb_aws_send(s->client, &call);
}

static bool decode_machines(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct survey *s = arg;
    return rb_ec2_decode_machines(body, n, &s->arena, &s->machines_page, err);
}

static void ask_machines(struct survey *s, const char *page);

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
        ask_prices(s, NULL);
    else if (!too_many_pages(s, "DescribeInstanceTypes"))
        ask_machines(s, page->next_page);
}

static void ask_machines(struct survey *s, const char *page)
{
    struct rb_api_call call = new_call("DescribeInstanceTypes", s);
    rb_ec2_encode_machines(s->types, s->n_types, page, &call.body);
    call.decode = decode_machines;
    call.done = machines_done;
    rb_aws_send(s->client, &call);
}

static void refuse_done(void *arg, const struct rb_err *err)
{
    survey_failed(arg, err);
}

static void refuse(struct survey *s, int n_types)
{
    struct rb_err err;
    rb_err_set(&err, RB_ERR_INVALID, "%s: %d instance types in one question, expected at most %d", s->infra, n_types,
               RB_EC2_MAX_TYPES);
    struct rb_api_call call = new_call("DescribeInstanceTypes", s);
    call.done = refuse_done;
    rb_aws_refuse(s->client, &call, &err);
}

void rb_ec2_offers(struct rb_aws_client *client, const struct rb_loop *loop, const char *infra,
                   const char *const *types, int n_types, rb_offers_fn *fn, void *arg)
{
    struct survey *s = rb_xcalloc(1, sizeof *s);
    s->client = client;
    s->infra = rb_arena_strdup(&s->arena, infra);
    s->asked_unix_us = loop->unix_us(loop->ctx);
    s->fn = fn;
    s->arg = arg;
    if (n_types > RB_EC2_MAX_TYPES) {
        refuse(s, n_types);
        return;
    }
    s->types = rb_arena_array(&s->arena, (size_t)n_types, sizeof *s->types);
    for (s->n_types = 0; s->n_types < n_types; s->n_types++)
        s->types[s->n_types] = rb_arena_strdup(&s->arena, types[s->n_types]);
    ask_machines(s, NULL);
}
