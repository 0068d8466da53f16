// Reports a refusal that needs no request: the callback is called on the next turn of the loop, never from inside the
// call.
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

// Returns a call that reports the refusal, for rb_api_refuse or the refuse function of a client. Copies the refusal.
struct rb_api_call rb_refusal_call(const struct rb_refusal *refusal);

#endif
