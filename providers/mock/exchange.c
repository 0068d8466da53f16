// Header lookup.
#include "providers/mock/exchange.h"

#include <strings.h>

const char *rb_exchange_header(const struct rb_exchange_request *r, const char *name)
{
    for (int i = 0; i < r->n_headers; i++)
        if (strcasecmp(r->headers[i].name, name) == 0)
            return r->headers[i].value;
    return NULL;
}
