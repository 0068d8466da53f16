// Headers only: nothing of the request has been read as a wish yet.
#include "providers/mock/server/gate.h"

#include <string.h>
#include <strings.h>

static bool is_loopback(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) != 0)
            continue;
        const char *port = host + n;
        const size_t digits = *port == ':' ? strspn(port + 1, "0123456789") : 0;
        if (*port == '\0' || (digits > 0 && digits <= 5 && port[1 + digits] == '\0'))
            return true;
    }
    return false;
}

// NULL: none, or more than one.
static const char *only_host(const struct rb_exchange_request *r)
{
    const char *host = NULL;
    for (int i = 0; i < r->n_headers; i++) {
        if (strcasecmp(r->headers[i].name, "Host") != 0)
            continue;
        if (host)
            return NULL;
        host = r->headers[i].value;
    }
    return host;
}

static bool is_of_this_origin(const struct rb_sigv4_header *h, const char *host)
{
    static const char scheme[] = "http://";
    if (strcasecmp(h->name, "Origin") == 0)
        return strncasecmp(h->value, scheme, strlen(scheme)) == 0 && strcasecmp(h->value + strlen(scheme), host) == 0;
    if (strcasecmp(h->name, "Sec-Fetch-Site") == 0)
        return strcasecmp(h->value, "same-origin") == 0 || strcasecmp(h->value, "none") == 0;
    return true;
}

static bool refuse(struct rb_exchange_answer *out, int status, const char *why)
{
    out->status = status;
    out->content_type = "text/plain; charset=UTF-8";
    rb_buf_puts(&out->body, why);
    return false;
}

bool rb_mock_gate_passes(const struct rb_exchange_request *r, struct rb_exchange_answer *out)
{
    const char *host = only_host(r);
    if (!host || !is_loopback(host))
        return refuse(out, 421,
                      "rbmock answers for 127.0.0.1, localhost and [::1] only: send one Host header with one "
                      "of them\n");
    for (int i = 0; i < r->n_headers; i++)
        if (!is_of_this_origin(&r->headers[i], host))
            return refuse(out, 403, "rbmock runs commands and takes no requests from web pages of another origin\n");
    return true;
}
