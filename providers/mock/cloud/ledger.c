// rb-ledger/1.
#include "providers/mock/cloud/ledger.h"
#include "base/json.h"

#include <arpa/inet.h>

static void write_time(struct rb_json *j, const char *key, int64_t us)
{
    rb_json_key(j, key);
    if (us >= 0)
        rb_json_int(j, us);
    else
        rb_json_null(j);
}

static void write_tags(struct rb_json *j, const struct rb_cloud_instance *i)
{
    rb_json_key(j, "tags");
    rb_json_begin_object(j);
    for (int k = 0; k < i->n_tags; k++)
        rb_json_kstring(j, i->tags[k].key, i->tags[k].value);
    rb_json_end_object(j);
}

static void write_bill(struct rb_json *j, const struct rb_cloud_instance *i, const struct rb_bill *bill)
{
    rb_json_kint(j, "uusd_per_hour", i->offer->rate.uusd_per_hour);
    rb_json_kint(j, "billed_s", bill->billed_s);
    rb_json_kint(j, "machine_uusd", bill->machine_uusd);
    rb_json_kint(j, "minimum_uusd", bill->minimum_uusd);
    rb_json_kint(j, "disk_gb", i->disk_gb);
    rb_json_kint(j, "disk_uusd", bill->disk_uusd);
    rb_json_kint(j, "cost_uusd", bill->total_uusd);
}

static void write_instance(struct rb_json *j, const struct rb_cloud_instance *i, const struct rb_bill *bill)
{
    static const char *const causes[] = {NULL, "user", "guest", "capacity", "interrupted", "expired"};
    struct in_addr address = {.s_addr = htonl(i->address)};
    rb_json_begin_object(j);
    rb_json_kstring(j, "id", i->id);
    rb_json_kstring(j, "name", i->name);
    rb_json_kstring(j, "infra", i->offer->infra);
    rb_json_kstring(j, "zone", i->zone);
    rb_json_kstring(j, "instance_type", i->offer->instance_type);
    rb_json_kstring(j, "market", rb_market_name(i->offer->market));
    rb_json_kstring(j, "state", rb_cloud_state_name(i->state));
    rb_json_kstring(j, "cause", causes[i->cause]);
    rb_json_kstring(j, "address", inet_ntoa(address));
    rb_json_kstring(j, "token", i->token[0] ? i->token : NULL);
    write_tags(j, i);
    write_time(j, "requested_us", i->requested_us);
    write_time(j, "running_us", i->running_us);
    write_time(j, "ready_us", i->ready_us);
    write_time(j, "ended_us", i->ended_us);
    write_time(j, "terminated_us", i->terminated_us);
    rb_json_kstring(j, "node_failure", i->node_failure);
    write_bill(j, i, bill);
    rb_json_end_object(j);
}

void rb_ledger_write(const struct rb_cloud *c, int64_t now_us, struct rb_buf *out)
{
    struct rb_json j;
    int64_t total_uusd = 0;
    int n_alive = 0;
    rb_json_init(&j, out, true);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-ledger/1");
    rb_json_kint(&j, "at_us", now_us);
    rb_json_key(&j, "instances");
    rb_json_begin_array(&j);
    for (int k = 0; k < rb_cloud_n_instances(c); k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(c, k);
        struct rb_bill bill = rb_cloud_bill(i, now_us);
        total_uusd += bill.total_uusd;
        n_alive += i->state != RB_CLOUD_TERMINATED;
        write_instance(&j, i, &bill);
    }
    rb_json_end_array(&j);
    rb_json_kint(&j, "instances_left", n_alive);
    rb_json_kint(&j, "total_uusd", total_uusd);
    rb_json_end_object(&j);
    rb_buf_putc(out, '\n');
}
