// services.skus.list of the Cloud Billing API, for Compute Engine (services/6F81-5844-456A): the parts that the price
// list's machines are made of (gcp_skus.h). Beside each are entries that a careless client takes for it: a commitment,
// sole tenancy, a reservation ahead of time, at other prices. One page holds at most MAX_PAGE of them.
#include "providers/mock/gcp/gcp_skus.h"
#include "providers/mock/gcp/mock_gcp_call.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PAGE = 5000, NANOS_PER_USD = 1000000000 };

static const char service[] = "6F81-5844-456A"; // Compute Engine's id

enum variant { PART, COMMITMENT, SOLE_TENANCY, CALENDAR, N_VARIANTS };

struct question {
    int64_t limit, next; // position of the first to be shown
};

static bool read_question(struct rb_mock_gcp_call *call, struct question *q)
{
    const struct rb_chaos_rule *partial = call->chaos.by[RB_CHAOS_PARTIAL_PAGE];
    const char *currency = rb_form_get(&call->query, "currencyCode");
    q->limit = MAX_PAGE;
    q->next = 0;
    if (!rb_gcp_read_number(call, "pageSize", 1, MAX_PAGE, &q->limit) ||
        !rb_gcp_read_number(call, "pageToken", 0, INT64_MAX, &q->next) || !rb_gcp_checked(call))
        return false;
    if (currency && strcmp(currency, "USD") != 0)
        return rb_gcp_invalid(call, "currencyCode", currency, "This mock cloud sells in USD.");
    if (strcmp(call->name, service) != 0)
        return rb_gcp_refuse(call, 404, "notFound", "services/%.40s was not found", call->name);
    if (partial && partial->items < q->limit)
        q->limit = partial->items;
    return true;
}

static const char *place_of(const char *region)
{
    return strncmp(region, "us-", 3) == 0       ? "Americas"
           : strncmp(region, "europe-", 7) == 0 ? "EMEA"
           : strncmp(region, "asia-", 5) == 0   ? "APAC"
                                                : region;
}

static const char *description_of(struct rb_mock_gcp_call *call, const struct rb_gcp_sku *s, enum variant v)
{
    const char *place = place_of(s->region);
    const bool gpu = s->kind == RB_GCP_SKU_GPU, spot = s->market == RB_MARKET_SPOT;
    if (v == COMMITMENT)
        return rb_arena_printf(call->arena, "Commitment v1: %s in %s for 1 Year", s->part, place);
    if (v == SOLE_TENANCY)
        return rb_arena_printf(call->arena, "Sole Tenancy %s running in %s", s->part, place);
    if (v == CALENDAR)
        return rb_arena_printf(call->arena, "DWS Calendar Mode %s running in %s", s->part, place);
    if (spot && gpu)
        return rb_arena_printf(call->arena, "%s attached to Spot Preemptible VMs running in %s", s->part, place);
    return rb_arena_printf(call->arena, "%s%s running in %s", spot ? "Spot Preemptible " : "", s->part, place);
}

static void write_sku(struct rb_mock_gcp_call *call, const struct rb_gcp_sku *s, enum variant v, int64_t position)
{
    static const int64_t percent[N_VARIANTS] = {100, 63, 110, 55};
    const int64_t nanos = s->nanos * percent[v] / 100;
    const char *id = rb_arena_printf(call->arena, "%04llX-0000-%04X", (unsigned long long)position, (unsigned)v);
    const char *usage = v == COMMITMENT ? "Commit1Yr" : s->market == RB_MARKET_SPOT ? "Preemptible" : "OnDemand";
    rb_json_put(&call->json,
                "{name: 'services/%s/skus/%s', skuId: %s, description: %s, category: {serviceDisplayName: 'Compute "
                "Engine', resourceFamily: 'Compute', resourceGroup: %s, usageType: %s}, serviceRegions: [%s]",
                service, id, id, description_of(call, s, v), s->group, usage, s->region);
    rb_json_put(&call->json,
                "pricingInfo: [{effectiveTime: %s, summary: '', pricingExpression: {usageUnit: %s, displayQuantity: 1,"
                "tieredRates: [{startUsageAmount: 0, unitPrice: {currencyCode: 'USD', units: '%jd', nanos: %jd}}]}}],"
                "serviceProviderName: 'Google'}",
                rb_gcp_instant(call, rb_cloud_config_of(call->cloud)->epoch_us),
                s->kind == RB_GCP_SKU_MEMORY ? "GiBy.h" : "h", nanos / NANOS_PER_USD, nanos % NANOS_PER_USD);
}

bool rb_gcp_skus_list(struct rb_mock_gcp_call *call)
{
    struct question q;
    struct rb_gcp_skus all;
    struct rb_err err;
    if (!read_question(call, &q))
        return false;
    if (!rb_gcp_skus_of(&rb_cloud_config_of(call->cloud)->catalog, call->arena, &all, &err))
        return rb_gcp_refuse(call, 500, "backendError", "%s", err.message);
    const int64_t end = (int64_t)all.n * N_VARIANTS;
    const int64_t stop = end - q.next < q.limit ? end : q.next + q.limit;
    rb_json_put(&call->json, "{skus: [");
    for (int64_t at = q.next; at < stop; at++)
        write_sku(call, &all.skus[at / N_VARIANTS], (enum variant)(at % N_VARIANTS), at);
    rb_json_put(&call->json, "], nextPageToken: %s}",
                stop < end ? rb_arena_printf(call->arena, "%lld", (long long)stop) : "");
    return true;
}
