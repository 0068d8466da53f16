// Lists the account's capacity reservations and Capacity Blocks of the region, page by page.
#include "providers/ec2/ec2_decode.h"
#include "providers/ec2/ec2_encode.h"
#include "providers/ec2/ec2_verbs.h"

static bool decode(void *cloud, const char *body, size_t n, struct rb_arena *arena, struct rb_reservation_page *out,
                   struct rb_err *err)
{
    const struct rb_ec2 *ec2 = cloud;
    return rb_ec2_decode_reservations(body, n, ec2->infra, arena, out, err);
}

static void send(void *cloud, const char *page, struct rb_api_call *call)
{
    const struct rb_ec2 *ec2 = cloud;
    rb_ec2_encode_reservations(page, &call->body);
    rb_aws_send(ec2->client, call);
}

void rb_ec2_reservations(struct rb_provider *p, rb_reservations_fn *fn, void *arg)
{
    static const struct rb_reservation_source source = {"DescribeCapacityReservations", decode, send};
    rb_list_reservations(&source, p->state, fn, arg);
}
