// Text as requests to a front of the mock: METHOD PATH[?QUERY] on a line, then a body, up to a line of three dashes.
#ifndef RB_TESTS_FUZZ_REQUEST_H
#define RB_TESTS_FUZZ_REQUEST_H

#include "providers/mock/cloud/exchange.h"

#include <stdbool.h>
#include <string.h>

// Ends the first request with a NUL, and returns what follows; NULL: it is the last one.
static inline char *fuzz_cut_request(char *text)
{
    char *next = strstr(text, "\n---\n");
    if (!next)
        return NULL;
    *next = '\0';
    return next + strlen("\n---\n");
}

// Cuts `text` into the parts of *out; headers are left to the caller. False: it is no request.
static inline bool fuzz_read_request(char *text, struct rb_exchange_request *out)
{
    char *body = strchr(text, '\n'), *path = strchr(text, ' ');
    if (body)
        *body++ = '\0';
    if (!path || (body && path > body))
        return false;
    *path++ = '\0';
    char *query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    out->method = text;
    out->path = path;
    out->query = query ? query : "";
    out->body = body ? body : "";
    out->body_len = body ? strlen(body) : 0;
    return true;
}

#endif
