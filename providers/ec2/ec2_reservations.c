// Lists the account's capacity reservations and Capacity Blocks of the region, page by page.
#include "providers/ec2/ec2_decode.h"
#include "providers/ec2/ec2_encode.h"
#include "providers/ec2/ec2_verbs.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 3, MAX_PAGES = 100 };

struct question {
    struct rb_arena arena;
    struct rb_ec2 *ec2;
    struct rb_ec2_reservations page;
    struct rb_reservation *all; // [n]
    int n, n_pages;
    rb_reservations_fn *fn;
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
    return rb_ec2_decode_reservations(body, n, q->ec2->infra, &q->arena, &q->page, err);
}

static void ask(struct question *q, const char *page);

static void done(void *arg, const struct rb_err *err)
{
    struct question *q = arg;
    struct rb_err endless;
    if (!err && q->page.next_page && ++q->n_pages >= MAX_PAGES) {
        rb_err_set(&endless, RB_E_ENDLESS, "DescribeCapacityReservations: no end after %d pages", MAX_PAGES);
        err = &endless;
    }
    if (!err && q->page.n > 0) {
        q->all = rb_xrealloc(q->all, (size_t)(q->n + q->page.n), sizeof *q->all);
        memcpy(q->all + q->n, q->page.reservations, (size_t)q->page.n * sizeof *q->all);
        q->n += q->page.n;
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
    struct rb_api_call call = rb_api_call_new("DescribeCapacityReservations", TRIES, q, decode, done);
    call.drop = destroy;
    rb_ec2_encode_reservations(page, &call.body);
    rb_aws_send(q->ec2->client, &call);
}

void rb_ec2_reservations(struct rb_provider *p, rb_reservations_fn *fn, void *arg)
{
    struct question *q = rb_api_state_create(sizeof *q);
    q->ec2 = p->state;
    q->fn = fn;
    q->arg = arg;
    ask(q, NULL);
}
