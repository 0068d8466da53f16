// Header lookup, and what chaos does to an exchange whatever the front.
#include "providers/mock/cloud/exchange.h"

#include <strings.h>

static const char bad_gateway[] = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
                                  "<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n";

const char *rb_exchange_header(const struct rb_exchange_request *r, const char *name)
{
    for (int i = 0; i < r->n_headers; i++)
        if (strcasecmp(r->headers[i].name, name) == 0)
            return r->headers[i].value;
    return NULL;
}

static void put_bad_gateway(struct rb_exchange_answer *out)
{
    rb_buf_clear(&out->body);
    rb_buf_puts(&out->body, bad_gateway);
    out->content_type = "text/html";
    out->status = 502;
}

bool rb_exchange_forestall(const struct rb_chaos_verdict *v, struct rb_exchange_answer *out)
{
    const struct rb_chaos_rule *html = v->by[RB_CHAOS_HTML_502];
    if (v->by[RB_CHAOS_CONNECTION_RESET])
        out->delivery = RB_EXCHANGE_RESET;
    else if (html && !html->after_effect)
        put_bad_gateway(out);
    else
        return false;
    return true;
}

void rb_exchange_spoil(const struct rb_chaos_verdict *v, struct rb_exchange_answer *out)
{
    const struct rb_chaos_rule *html = v->by[RB_CHAOS_HTML_502], *cut = v->by[RB_CHAOS_TRUNCATED_BODY],
                               *drip = v->by[RB_CHAOS_SLOW_DRIP], *skew = v->by[RB_CHAOS_CLOCK_SKEW];
    if (html && html->after_effect)
        put_bad_gateway(out);
    if (skew)
        out->skew_us = skew->delay_us;
    if (v->by[RB_CHAOS_LOST_RESPONSE]) {
        out->delivery = RB_EXCHANGE_LOST;
    } else if (cut) {
        out->delivery = RB_EXCHANGE_CUT;
        out->cut_at = (size_t)((double)out->body.len * cut->fraction);
    } else if (drip) {
        out->delivery = RB_EXCHANGE_DRIP;
        out->bytes_per_s = drip->bytes_per_s;
    }
}
