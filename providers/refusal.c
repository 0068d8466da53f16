#include "providers/refusal.h"

#include "base/arena.h"

#include <stdlib.h>

static void report(void *arg, const struct rb_err *err)
{
    struct rb_refusal *r = arg;
    (void)err; // prefixed with the name of a call that was never made
    switch (r->of) {
    case RB_REFUSED_PREFLIGHT:
        r->fn.preflight(r->arg, &r->err, NULL);
        break;
    case RB_REFUSED_QUOTAS:
        r->fn.quotas(r->arg, &r->err, NULL, 0);
        break;
    case RB_REFUSED_OFFERS:
        r->fn.offers(r->arg, &r->err, NULL);
        break;
    }
    free(r);
}

struct rb_api_call rb_refusal_call(const struct rb_refusal *refusal)
{
    struct rb_refusal *r = rb_xcalloc(1, sizeof *r);
    *r = *refusal;
    return (struct rb_api_call){.name = "question", .arg = r, .done = report, .drop = free};
}
