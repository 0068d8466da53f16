// A question that is refused before it costs a request: it is answered on the next turn all the same, never from inside the
// call that asked it.
#ifndef RB_PROVIDERS_REFUSAL_H
#define RB_PROVIDERS_REFUSAL_H

#include "providers/provider.h"
#include "providers/wire/api_call.h"

struct rb_refusal {
    struct rb_err err;
    enum { RB_REFUSED_PREFLIGHT, RB_REFUSED_QUOTAS, RB_REFUSED_OFFERS } of;
    union {
        rb_preflight_fn *preflight;
        rb_quotas_fn *quotas;
        rb_offers_fn *offers;
    } fn;
    void *arg;
};

// A call for rb_api_refuse, or a client's own, that tells it. Copies the refusal.
struct rb_api_call rb_refusal_call(const struct rb_refusal *refusal);

#endif
