// RunInstances: what makes two requests the same, and how the cloud's answer is put into EC2's words.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "base/text/table.h"
#include "providers/mock/ec2/mock_ec2_xml.h"
#include "providers/wire/digest.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct rb_form_field *const *)a)->name, (*(const struct rb_form_field *const *)b)->name);
}

// Digest of everything that must not change when a token is repeated: all but the token itself, the zone, and
// how the request was sent.
static const char *fingerprint(const struct rb_mock_call *call)
{
    static const char *const left_out[] = {"Action", "ClientToken", "DryRun", "Placement.AvailabilityZone", "Version"};
    const struct rb_form_field **fields = rb_arena_array(call->arena, (size_t)call->form->n + 1, sizeof *fields);
    int n = 0;
    for (int i = 0; i < call->form->n; i++) {
        const struct rb_form_field *f = &call->form->fields[i];
        if (strncmp(f->name, "X-Amz-", 6) != 0 && !RB_ROW_OF(left_out, f->name))
            fields[n++] = f;
    }
    qsort(fields, (size_t)n, sizeof *fields, by_name);
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    for (int i = 0; i < n; i++) // lengths keep `a=b&c` and `a=b` `c` apart
        rb_buf_printf(&text, "%zu:%s%zu:%s", strlen(fields[i]->name), fields[i]->name, strlen(fields[i]->value),
                      fields[i]->value);
    char *digest = rb_arena_alloc(call->arena, 65);
    rb_digest_sha256(rb_buf_str(&text), text.len, digest);
    return digest;
}

// Spot quotas have a code of their own, and no figures in the message.
static bool refuse_quota(struct rb_mock_call *call, const struct rb_cloud_launch *l)
{
    const struct rb_cloud_quota *q = rb_cloud_quota_exceeded(call->cloud, l);
    if (l->market == RB_MARKET_SPOT)
        return rb_mock_refuse(call, 400, "MaxSpotInstanceCountExceeded", "Max spot instance count exceeded");
    if (q->unit == RB_CLOUD_INSTANCES)
        return rb_mock_refuse(call, 400, "InstanceLimitExceeded",
                              "You have requested more instances (%d) than your current instance limit of %lld allows "
                              "for the specified instance type.",
                              l->min_count, (long long)q->max);
    return rb_mock_refuse(call, 400, "VcpuLimitExceeded",
                          "You have requested more vCPU capacity than your current vCPU limit of %lld allows for the "
                          "instance bucket that the specified instance type belongs to (%.60s).",
                          (long long)q->max, q->name);
}

static bool refuse_launch(struct rb_mock_call *call, const struct rb_cloud_launch *l, enum rb_cloud_answer answer)
{
    const char *type = l->instance_type, *zone = l->zone ? l->zone : call->region;
    switch (answer) {
    case RB_CLOUD_TOKEN_MISMATCH:
        return rb_mock_refuse(call, 400, "IdempotentParameterMismatch",
                              "Arguments on this idempotent request are inconsistent with arguments used in previous "
                              "request(s).");
    case RB_CLOUD_NO_SUCH_TYPE:
        return rb_mock_refuse(call, 400, "InvalidParameterValue", "Invalid value '%.60s' for InstanceType.", type);
    case RB_CLOUD_NO_SUCH_ZONE:
        return rb_mock_refuse(call, 400, "InvalidParameterValue", "Invalid availability zone: [%.60s]", zone);
    case RB_CLOUD_NOT_OFFERED:
        return rb_mock_refuse(call, 400, "Unsupported",
                              "Your requested instance type (%.60s) is not sold as %s in %.60s", type,
                              rb_market_name(l->market), zone);
    case RB_CLOUD_NO_DISK_PRICE:
        return rb_mock_refuse(call, 400, "Unsupported",
                              "The price list has no row with instance_type `disk` for %.60s, so "
                              "a volume of given size cannot be billed",
                              call->region);
    case RB_CLOUD_NO_CAPACITY:
        return rb_mock_refuse(call, 500, "InsufficientInstanceCapacity",
                              "We currently do not have sufficient %.60s capacity in the zone you requested (%.60s).",
                              type, zone);
    case RB_CLOUD_OVER_QUOTA:
        return refuse_quota(call, l);
    case RB_CLOUD_NO_ADDRESS:
        return rb_mock_refuse(call, 400, "InsufficientFreeAddressesInSubnet",
                              "This cloud has given out all its addresses; start another rbmock");
    case RB_CLOUD_NO_SUCH_GROUP:
        return rb_mock_refuse(call, 400, "InvalidPlacementGroup.Unknown", "The Placement Group '%.100s' is unknown.",
                              l->group);
    case RB_CLOUD_GROUP_ELSEWHERE:
        return rb_mock_refuse(call, 400, "InvalidParameterCombination",
                              "The instances of placement group %.100s are not in %.40s, and a cluster does not span "
                              "zones",
                              l->group, zone);
    case RB_CLOUD_NO_SUCH_RESERVED:
        return rb_mock_refuse(call, 400, "InvalidCapacityReservationId.NotFound",
                              "The capacity reservation ID '%.40s' does not exist", l->reserved);
    case RB_CLOUD_RESERVED_DIFFERS:
        return rb_mock_refuse(call, 400, "InvalidParameterValue",
                              "The attributes of the instance (%.60s in %.40s, as %s) do not match those of capacity "
                              "reservation %.40s",
                              type, zone, l->of_block ? "capacity-block" : "on-demand", l->reserved);
    case RB_CLOUD_RESERVED_FULL:
        return rb_mock_refuse(call, 400, "ReservationCapacityExceeded",
                              "The requested reservation does not have sufficient compatible and available capacity "
                              "for this request.");
    case RB_CLOUD_GROUP_EXISTS:
    case RB_CLOUD_GROUP_IN_USE:
    case RB_CLOUD_NO_SUCH_INSTANCE:
    case RB_CLOUD_OK:
        break;
    }
    abort(); // not an answer of rb_cloud_launch
}

static void write_reservation(struct rb_mock_call *call, struct rb_cloud_reservation r)
{
    rb_mock_xml_put(call->out, "reservationId:%s ownerId:%s groupSet/",
                    rb_cloud_instance(call->cloud, r.first)->reservation, RB_MOCK_ACCOUNT);
    rb_mock_xml_open(call->out, "instancesSet");
    for (int k = 0; k < r.n; k++)
        rb_mock_write_instance(call, rb_cloud_instance(call->cloud, r.first + k));
    rb_mock_xml_close(call->out, "instancesSet");
}

bool rb_mock_run_instances(struct rb_mock_call *call)
{
    struct rb_cloud_launch l = {.region = call->region};
    struct rb_cloud_reservation r;
    if (!rb_mock_read_launch(call, &l) || !rb_mock_call_no_unknown(call))
        return false;
    l.fingerprint = fingerprint(call);
    enum rb_cloud_answer answer = rb_cloud_launch(call->cloud, &l, call->now_us, &r);
    if (answer != RB_CLOUD_OK)
        return refuse_launch(call, &l, answer);
    if (l.dry_run)
        return rb_mock_refuse_dry_run(call);
    write_reservation(call, r);
    return true;
}
