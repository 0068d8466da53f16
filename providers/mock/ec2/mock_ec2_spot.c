// DescribeSpotPriceHistory. The current price is what the ledger bills: that of a pool with prices, from its last step on, else the
// price list's, since some hours before the cloud began. Before that every zone has a history of its own, drawn around the
// latter.
#include "base/stream.h"
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_xml.h"

#include <inttypes.h>
#include <string.h>

#define DRAW_STAGE  65 // beside those of cloud_state.h and chaos.c
#define N_CHANGES   56 // two weeks of
#define CHANGE_US   (6 * 3600 * RB_US_PER_S)
#define SPREAD_FRAC 0.2
#define POSITIONS   (INT64_C(1) << 32) // of pages, for each zone: more than a pool has steps

struct change {
    int64_t at_us, uusd_per_hour;
};

// The k-th price before the price list's began at, and was; k = 0 is the price list's.
static struct change drawn_change(const struct rb_mock_call *call, int offer, int zone, int k)
{
    const struct rb_cloud_config *c = rb_cloud_config_of(call->cloud);
    const int64_t rate = c->catalog.offers[offer].rate.uusd_per_hour;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = c->seed,
                                               .purpose = RB_DRAW_MOCK,
                                               .stage = DRAW_STAGE,
                                               .index = (uint32_t)offer,
                                               .attempt = (uint32_t)zone,
                                               .replicate = (uint32_t)k});
    const double within = rb_stream_uniform(&s), factor = 1 + SPREAD_FRAC * (2 * rb_stream_uniform(&s) - 1);
    return (struct change){.at_us = c->epoch_us - k * CHANGE_US - (int64_t)(within * (double)CHANGE_US),
                           .uusd_per_hour = k == 0 ? rate : (int64_t)((double)rate * factor)};
}

struct question {
    const char *const *types, *const *products;
    int n_types, n_products;
    const char *zone;
    int64_t start_us, end_us;
    struct rb_mock_filters filters;
    struct rb_mock_page page;
};

static bool read_instant(struct rb_mock_call *call, const char *name, int64_t *out_us)
{
    const char *text = rb_form_get(call->form, "%s", name);
    return !text || rb_parse_instant(text, out_us, NULL) ||
           rb_mock_refuse(call, 400, "InvalidParameterValue", "Value (%.40s) for parameter %s is no instant", text,
                          name);
}

static bool read_question(struct rb_mock_call *call, struct question *q)
{
    static const char *const known[] = {"availability-zone", "instance-type", "product-description", NULL};
    q->n_types = rb_form_list(call->form, "InstanceType", call->arena, &q->types);
    q->n_products = rb_form_list(call->form, "ProductDescription", call->arena, &q->products);
    q->zone = rb_form_get(call->form, "AvailabilityZone");
    q->start_us = 0;
    q->end_us = call->now_us;
    return read_instant(call, "StartTime", &q->start_us) && read_instant(call, "EndTime", &q->end_us) &&
           rb_mock_read_filters(call, known, &q->filters) && rb_mock_read_page(call, 1, 1000, &q->page) &&
           rb_mock_call_checked(call);
}

static bool sells_linux(const struct question *q)
{
    return rb_mock_is_among("Linux/UNIX", q->products, q->n_products) ||
           rb_mock_is_among("Linux/UNIX (Amazon VPC)", q->products, q->n_products);
}

static void write_price(struct rb_mock_call *call, const char *type, const char *zone, const struct change *c)
{
    const char *price =
        rb_arena_printf(call->arena, "%" PRId64 ".%06" PRId64, c->uusd_per_hour / RB_UUSD, c->uusd_per_hour % RB_UUSD);
    rb_mock_xml_put(
        call->out, "item{instanceType:%s productDescription:Linux/UNIX spotPrice:%s timestamp@%jd availabilityZone:%s}",
        type, price, c->at_us, zone);
}

// A second of a node costs what holds at its beginning, and nodes' seconds are whole: a change counts from the next one on.
static int64_t shown_us(const struct rb_price_path *prices, int step)
{
    const int64_t at_us = prices->steps[step].at_us - prices->ahead_us, over_us = at_us % RB_US_PER_S;
    return over_us > 0 ? at_us - over_us + RB_US_PER_S : at_us;
}

// One after the other, the newest first: those of the pool's steps so far, then the drawn ones. False: there is no k-th.
static bool change_of(const struct rb_mock_call *call, const struct rb_price_path *prices, int offer, int zone, int k,
                      struct change *out)
{
    int n = 0;
    while (n < prices->n && shown_us(prices, n) <= call->now_us)
        n++;
    if (k < n)
        *out = (struct change){shown_us(prices, n - 1 - k), prices->steps[n - 1 - k].uusd_per_hour};
    else
        *out = drawn_change(call, offer, zone, k - n);
    return k - n <= N_CHANGES;
}

// Newest first: the changes within the window and the last one before it, which held when the window began.
static void write_pool(struct rb_mock_call *call, struct question *q, int offer, const char *zone, int zone_index,
                       int64_t first_position)
{
    const struct rb_cloud_config *config = rb_cloud_config_of(call->cloud);
    const struct rb_offer *o = &config->catalog.offers[offer];
    const struct rb_price_path prices = rb_cloud_prices(config, o, zone);
    struct change c;
    for (int k = 0; change_of(call, &prices, offer, zone_index, k, &c); k++) {
        if (c.at_us > q->end_us)
            continue;
        if (rb_mock_page_take(&q->page, first_position + k))
            write_price(call, o->instance_type, zone, &c);
        if (c.at_us <= q->start_us)
            return;
    }
}

bool rb_mock_describe_spot_price_history(struct rb_mock_call *call)
{
    const struct rb_catalog *c = &rb_cloud_config_of(call->cloud)->catalog;
    const struct rb_cloud_region *region = rb_cloud_regions_find(rb_cloud_regions(call->cloud), call->region);
    struct question q;
    if (!read_question(call, &q))
        return false;
    if (q.zone && !rb_cloud_region_has_zone(region, q.zone))
        return rb_mock_refuse(call, 400, "InvalidParameterValue", "Invalid availability zone: [%.60s]", q.zone);
    rb_mock_xml_open(call->out, "spotPriceHistorySet");
    for (int i = 0; i < c->n_offers && sells_linux(&q); i++) {
        const struct rb_offer *o = &c->offers[i];
        for (int z = 0; z < region->n_zones && o->market == RB_MARKET_SPOT; z++) {
            const char *zone = region->zones[z];
            const struct rb_mock_fact facts[] = {{"instance-type", o->instance_type},
                                                 {"availability-zone", zone},
                                                 {"product-description", "Linux/UNIX"},
                                                 {0}};
            if ((!q.zone || strcmp(q.zone, zone) == 0) && rb_mock_is_among(o->instance_type, q.types, q.n_types) &&
                rb_cloud_offer(c, call->region, zone, o->instance_type, RB_MARKET_SPOT) == o &&
                rb_mock_filters_match(&q.filters, facts, NULL, 0))
                write_pool(call, &q, i, zone, z, ((int64_t)i * region->n_zones + z) * POSITIONS);
        }
    }
    rb_mock_xml_close(call->out, "spotPriceHistorySet");
    rb_mock_write_next_token(call, &q.page);
    return true;
}
