// rb-ledger/1.
#include "providers/mock/cloud/ledger.h"
#include "base/document/json.h"

#include <arpa/inet.h>

static void write_instance(struct rb_json *j, const struct rb_cloud_instance *i, const struct rb_bill *bill)
{
    static const char *const causes[] = {NULL, "user", "guest", "capacity", "interrupted", "expired"};
    struct in_addr address = {.s_addr = htonl(i->address)};
    rb_json_put(j, "{id: %s", i->id);
    rb_json_kstring(j, "name", i->name);
    rb_json_put(j, "infra: %s, zone: %s, instance_type: %s, market: %s, state: %s", i->offer->infra, i->zone,
                i->offer->instance_type, rb_market_name(i->offer->market), rb_cloud_state_name(i->state));
    rb_json_kstring(j, "cause", causes[i->cause]);
    if (i->reserved)
        rb_json_kstring(j, "reservation", i->reserved->id);
    rb_json_kstring(j, "address", inet_ntoa(address));
    rb_json_kstring(j, "token", i->token[0] ? i->token : NULL);
    rb_json_put(j, "tags: {");
    for (int k = 0; k < i->n_tags; k++)
        rb_json_kstring(j, i->tags[k].key, i->tags[k].value);
    rb_json_put(j, "}");
    rb_json_kint_or_null(j, "requested_us", i->requested_us);
    rb_json_kint_or_null(j, "running_us", i->running_us);
    rb_json_kint_or_null(j, "ready_us", i->ready_us);
    rb_json_kint_or_null(j, "ended_us", i->ended_us);
    rb_json_kint_or_null(j, "terminated_us", i->terminated_us);
    rb_json_kstring(j, "node_failure", i->node_failure);
    rb_json_put(j,
                "uusd_per_hour: %jd, billed_s: %jd, machine_uusd: %jd, minimum_uusd: %jd, disk_gb: %jd, disk_uusd: %jd,"
                "cost_uusd: %jd}",
                i->offer->rate.uusd_per_hour, bill->billed_s, bill->machine_uusd, bill->minimum_uusd, i->disk_gb,
                bill->disk_uusd, bill->total_uusd);
}

void rb_ledger_write(const struct rb_cloud *c, int64_t now_us, struct rb_buf *out)
{
    struct rb_json j;
    int64_t total_uusd = 0;
    int n_alive = 0;
    rb_json_init(&j, out, true);
    rb_json_put(&j, "{format: 'rb-ledger/1', at_us: %jd, instances: [", now_us);
    for (int k = 0; k < rb_cloud_n_instances(c); k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(c, k);
        struct rb_bill bill = rb_cloud_bill(i, now_us);
        total_uusd += bill.total_uusd;
        n_alive += i->state != RB_CLOUD_TERMINATED;
        write_instance(&j, i, &bill);
    }
    rb_json_put(&j, "], instances_left: %d, total_uusd: %jd}", n_alive, total_uusd);
    rb_buf_putc(out, '\n');
}
