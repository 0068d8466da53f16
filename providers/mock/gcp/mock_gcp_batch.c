// Lines end in CRLF or, as Python's email package writes them, in LF alone.
#include "providers/mock/gcp/mock_gcp_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BOUNDARY     "batch_rbmock_9f2c41d7e8a35b60" // JSON holds no line break, so it cannot occur in an answer
#define MAX_HEADERS  64
#define MAX_BOUNDARY 200

const char rb_gcp_batch_content_type[] = "multipart/mixed; boundary=" BOUNDARY;

struct text {
    const char *at, *end;
};

// The next line without its end; false: there is none.
static bool next_line(struct text *t, struct text *out)
{
    if (t->at >= t->end)
        return false;
    const char *stop = memchr(t->at, '\n', (size_t)(t->end - t->at));
    *out = (struct text){t->at, stop ? stop : t->end};
    t->at = stop ? stop + 1 : t->end;
    if (out->end > out->at && out->end[-1] == '\r')
        out->end--;
    return true;
}

// Headers up to the empty line. -1: too many, or one without a colon.
static int read_headers(struct text *t, struct rb_arena *arena, struct rb_sigv4_header *out)
{
    struct text line;
    int n = 0;
    while (next_line(t, &line) && line.at < line.end) {
        const char *colon = memchr(line.at, ':', (size_t)(line.end - line.at));
        if (!colon || n == MAX_HEADERS)
            return -1;
        const char *value = colon + 1;
        while (value < line.end && (*value == ' ' || *value == '\t'))
            value++;
        out[n++] = (struct rb_sigv4_header){rb_arena_strndup(arena, line.at, (size_t)(colon - line.at)),
                                            rb_arena_strndup(arena, value, (size_t)(line.end - value))};
    }
    return n;
}

static const char *find_header(const struct rb_sigv4_header *headers, int n, const char *name)
{
    for (int k = 0; k < n; k++)
        if (strcasecmp(headers[k].name, name) == 0)
            return headers[k].value;
    return NULL;
}

// A part inherits the batch's own headers, except those of its body, where it has none of the name.
static void add_outer_headers(const struct rb_exchange_request *outer, struct rb_sigv4_header *headers, int *n)
{
    const int n_own = *n;
    for (int k = 0; k < outer->n_headers && *n < 2 * MAX_HEADERS; k++)
        if (strncasecmp(outer->headers[k].name, "Content-", strlen("Content-")) != 0 &&
            !find_header(headers, n_own, outer->headers[k].name))
            headers[(*n)++] = outer->headers[k];
}

// METHOD PATH[?QUERY] HTTP/1.1
static bool read_request_line(struct text line, struct rb_arena *arena, struct rb_exchange_request *out)
{
    char *text = rb_arena_strndup(arena, line.at, (size_t)(line.end - line.at)), *save;
    const char *method = strtok_r(text, " ", &save);
    char *path = strtok_r(NULL, " ", &save);
    const char *version = strtok_r(NULL, " ", &save);
    if (!version || strncmp(version, "HTTP/1.", 7) != 0 || strtok_r(NULL, " ", &save) || path[0] != '/')
        return false;
    char *query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    out->method = method;
    out->path = path;
    out->query = query ? query : "";
    return true;
}

// The text after the headers, as long as Content-Length says, or without the line break that ends the part.
static bool read_body(struct text t, const struct rb_sigv4_header *headers, int n, struct rb_arena *arena,
                      struct rb_exchange_request *out)
{
    const char *length = find_header(headers, n, "Content-Length");
    size_t len = (size_t)(t.end - t.at);
    if (length) {
        char *stop;
        const long long said = strtoll(length, &stop, 10);
        if (stop == length || *stop || said < 0 || (unsigned long long)said > len)
            return false;
        len = (size_t)said;
    } else {
        while (len > 0 && (t.at[len - 1] == '\n' || t.at[len - 1] == '\r'))
            len--;
    }
    out->body = rb_arena_strndup(arena, t.at, len);
    out->body_len = len;
    return true;
}

// NULL: read; else what is wrong.
static const char *read_part(struct text t, const struct rb_exchange_request *outer, struct rb_arena *arena,
                             struct rb_gcp_batch_part *out)
{
    struct rb_sigv4_header of_part[MAX_HEADERS];
    struct text line;
    const int n_part = read_headers(&t, arena, of_part);
    const char *type = n_part < 0 ? NULL : find_header(of_part, n_part, "Content-Type");
    if (!type || strncasecmp(type, "application/http", strlen("application/http")) != 0)
        return "a part needs Content-Type: application/http";
    const char *id = find_header(of_part, n_part, "Content-ID");
    out->content_id = id ? id : "";
    if (!next_line(&t, &line) || !read_request_line(line, arena, &out->request))
        return "a part begins with METHOD /PATH HTTP/1.1";
    if (strncmp(out->request.path, "/compute/v1/", strlen("/compute/v1/")) != 0)
        return "a part is a request of /compute/v1/";
    struct rb_sigv4_header *headers = rb_arena_array(arena, (size_t)2 * MAX_HEADERS, sizeof *headers);
    int n = read_headers(&t, arena, headers);
    if (n < 0 || !read_body(t, headers, n, arena, &out->request))
        return "the headers of a part are broken";
    add_outer_headers(outer, headers, &n);
    out->request.headers = headers;
    out->request.n_headers = n;
    return NULL;
}

static const char *boundary_of(const struct rb_exchange_request *r, struct rb_arena *arena)
{
    static const char mixed[] = "multipart/mixed";
    const char *type = rb_exchange_header(r, "Content-Type");
    const char *at = type && strncasecmp(type, mixed, strlen(mixed)) == 0 ? strcasestr(type, "boundary=") : NULL;
    if (!at)
        return NULL;
    at += strlen("boundary=");
    const bool quoted = *at == '"';
    at += quoted;
    const size_t n = strcspn(at, quoted ? "\"" : "; \t");
    return n > 0 && n <= MAX_BOUNDARY ? rb_arena_printf(arena, "--%.*s", (int)n, at) : NULL;
}

// Is this line a delimiter? *out_last: the one after the last part.
static bool is_delimiter(struct text line, const char *boundary, bool *out_last)
{
    const size_t n = strlen(boundary), len = (size_t)(line.end - line.at);
    if (len < n || memcmp(line.at, boundary, n) != 0)
        return false;
    *out_last = len >= n + 2 && memcmp(line.at + n, "--", 2) == 0;
    const size_t rest = n + (*out_last ? 2 : 0);
    for (size_t k = rest; k < len; k++)
        if (line.at[k] != ' ' && line.at[k] != '\t')
            return false;
    return true;
}

bool rb_gcp_batch_read(const struct rb_exchange_request *r, struct rb_arena *arena, struct rb_gcp_batch *out,
                       const char **out_why)
{
    const char *boundary = boundary_of(r, arena), *part = NULL;
    struct text t = {r->body, r->body + r->body_len}, line;
    bool last = false;
    *out = (struct rb_gcp_batch){.parts = rb_arena_array(arena, RB_GCP_MAX_BATCH, sizeof *out->parts)};
    *out_why = boundary ? NULL : "expected Content-Type: multipart/mixed with a boundary";
    while (!*out_why && !last && next_line(&t, &line)) {
        if (!is_delimiter(line, boundary, &last))
            continue;
        if (part && out->n == RB_GCP_MAX_BATCH)
            *out_why = "a batch has at most 1000 parts";
        else if (part)
            *out_why = read_part((struct text){part, line.at}, r, arena, &out->parts[out->n++]);
        part = t.at;
    }
    if (!*out_why && (!last || out->n == 0))
        *out_why = out->n == 0 && last ? "a batch has at least one part" : "the last boundary is missing";
    return *out_why == NULL;
}

static const char *reason_of(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 404:
        return "Not Found";
    case 403:
        return "Forbidden";
    case 401:
        return "Unauthorized";
    case 409:
        return "Conflict";
    default:
        return status < 500 ? "Bad Request" : "Server Error";
    }
}

// Google answers <x+1> with <response-x+1>, by which clients find what belongs to what.
void rb_gcp_batch_put(const struct rb_gcp_batch_part *part, const struct rb_exchange_answer *answer, struct rb_buf *out)
{
    const char *id = part->content_id;
    rb_buf_puts(out, "--" BOUNDARY "\r\nContent-Type: application/http\r\n");
    if (*id == '<')
        rb_buf_printf(out, "Content-ID: <response-%s\r\n", id + 1);
    else if (*id)
        rb_buf_printf(out, "Content-ID: response-%s\r\n", id);
    rb_buf_printf(out, "\r\nHTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", answer->status,
                  reason_of(answer->status), answer->content_type, answer->body.len);
    rb_buf_append(out, answer->body.data ? answer->body.data : "", answer->body.len);
    rb_buf_puts(out, "\r\n");
}

void rb_gcp_batch_end(struct rb_buf *out)
{
    rb_buf_puts(out, "--" BOUNDARY "--\r\n");
}
