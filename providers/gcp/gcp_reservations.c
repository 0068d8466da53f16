// Lists the project's reservations in the region, page by page. Only those that a machine has to name can be named: of the
// others nothing is free to us. Future reservations, those of calendar mode included, are listed from their beginning on.
#include "providers/gcp/gcp_decode.h"
#include "providers/gcp/gcp_encode.h"
#include "providers/gcp/gcp_verbs.h"

static bool decode(void *cloud, const char *body, size_t n, struct rb_arena *arena, struct rb_reservation_page *out,
                   struct rb_err *err)
{
    const struct rb_gcp *gcp = cloud;
    return rb_gcp_decode_reservations(body, n, gcp->region, arena, out, err);
}

static void send(void *cloud, const char *page, struct rb_api_call *call)
{
    const struct rb_gcp *gcp = cloud;
    rb_gcp_target_reservations(gcp->project, page, &call->target);
    rb_google_send(gcp->client, RB_GOOGLE_COMPUTE, call);
}

void rb_gcp_reservations(struct rb_provider *p, rb_reservations_fn *fn, void *arg)
{
    static const struct rb_reservation_source source = {"reservations.aggregatedList", decode, send};
    rb_list_reservations(&source, p->state, fn, arg);
}
