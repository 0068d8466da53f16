// Lists what machines of the region cost on the spot market over time, page by page.
#include "providers/ec2/ec2_decode.h"
#include "providers/ec2/ec2_encode.h"
#include "providers/ec2/ec2_verbs.h"

#include <stdlib.h>

enum { TRIES = 3, MAX_PAGES = 200 };

struct question {
    struct rb_arena arena;
    struct rb_ec2 *ec2;
    const char **types; // [n_types]
    int n_types;
    int64_t from_unix_us;
    struct rb_ec2_spot_prices page;
    struct rb_spot_change *all; // [n]
    int n, n_pages;
    rb_spot_history_fn *fn;
    void *arg;
};

static void destroy(void *arg)
{
    struct question *q = arg;
    free(q->all);
    rb_api_state_free(q);
}

static bool decode(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct question *q = arg;
    return rb_ec2_decode_spot_prices(body, n, &q->arena, &q->page, err);
}

static void ask(struct question *q, const char *page);

static void done(void *arg, const struct rb_err *err)
{
    struct question *q = arg;
    struct rb_err endless;
    if (!err && q->page.next_page && ++q->n_pages >= MAX_PAGES) {
        rb_err_set(&endless, RB_E_ENDLESS, "DescribeSpotPriceHistory: no end after %d pages: ask for fewer days or types", MAX_PAGES);
        err = &endless;
    }
    if (!err) {
        q->all = rb_xrealloc(q->all, (size_t)(q->n + q->page.n) + 1, sizeof *q->all);
        for (int i = 0; i < q->page.n; i++) {
            const struct rb_ec2_spot_price *p = &q->page.prices[i];
            q->all[q->n++] = (struct rb_spot_change){p->instance_type, p->zone, p->at_us, p->rate.uusd_per_hour};
        }
    }
    if (!err && q->page.next_page) {
        ask(q, q->page.next_page);
        return;
    }
    q->fn(q->arg, err, q->all, err ? 0 : q->n);
    destroy(q);
}

static void ask(struct question *q, const char *page)
{
    struct rb_api_call call = rb_api_call_new("DescribeSpotPriceHistory", TRIES, q, decode, done);
    call.drop = destroy;
    rb_ec2_encode_spot_prices(q->types, q->n_types, q->from_unix_us, page, &call.body);
    rb_aws_send(q->ec2->client, &call);
}

void rb_ec2_spot_history(struct rb_provider *p, const char *const *types, int n_types, int64_t from_unix_us,
                         rb_spot_history_fn *fn, void *arg)
{
    struct question *q = rb_api_state_create(sizeof *q);
    q->ec2 = p->state;
    q->types = rb_arena_array(&q->arena, (size_t)n_types + 1, sizeof *q->types);
    for (int i = 0; i < n_types; i++)
        q->types[q->n_types++] = rb_arena_strdup(&q->arena, types[i]);
    q->from_unix_us = from_unix_us;
    q->fn = fn;
    q->arg = arg;
    ask(q, NULL);
}
