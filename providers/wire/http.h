// HTTP client over libcurl's multi interface, on a struct rb_loop. TLS is always verified; plain http only to loopback;
// no redirects, no proxy for loopback, response size capped. Bodies are bytes; classification is the caller's.
#ifndef RB_PROVIDERS_HTTP_H
#define RB_PROVIDERS_HTTP_H

#include "base/errors/err.h"
#include "base/loop.h"

#include <stddef.h>

struct rb_http;

bool rb_http_create(const struct rb_loop *loop, struct rb_http **out, struct rb_err *err);
void rb_http_destroy(struct rb_http *h); // pending requests end without callback; not from inside a callback

// How a service with certificates or names of its own is reached; all texts may be NULL. PEM texts may hold keys.
struct rb_http_peer {
    const char *ca_pem;                // certificates to trust, instead of the system's
    const char *cert_pem, *key_pem;    // ours
    const char *tls_name;              // the name in its certificate, if that is not the host of the URL
    const char *proxy;                 // URL; "": none, whatever the environment says
};

struct rb_http_request {
    const char *method, *url;
    const char *const *headers;   // "Name: value", [n_headers]; may hold secrets: never logged
    int n_headers;
    const void *body;
    size_t body_len;
    int64_t connect_timeout_us, timeout_us; // 0: 3.1 s, 30 s
    const char *unix_socket;      // path of the socket to use instead of the URL's host and port; NULL: TCP
    bool once;                    // on a new connection: on one that died while it was idle, libcurl would send it again
    const struct rb_http_peer *peer; // NULL: nothing of its own
    bool metadata;                // to a cloud's metadata service: plain http, never through a proxy
    // For an answer without end: gets its body as it comes, which is not kept, and must not call the client. Then timeout_us
    // is the longest silence. NULL: the body is kept, and is the response's.
    void (*heard)(void *arg, const char *bytes, size_t n);
};

struct rb_http_response {
    long status;                  // 0: no response at all
    const char *body;             // NUL-terminated, [body_len]
    size_t body_len;
    const char *retry_after;      // header or NULL
    const char *date;             // header or NULL
    const char *metadata_flavor;  // header or NULL: the name of the metadata service that answered
    const char *challenge;        // header WWW-Authenticate or NULL: how the peer wants to know who we are
    const char *content_digest;   // header Docker-Content-Digest or NULL
    bool sent;                    // the request may have reached the peer (outcome unknown if status is 0)
    const char *transport_error;  // NULL or libcurl's message
};

typedef void rb_http_fn(void *arg, const struct rb_http_response *response);

// Copies the request; calls fn exactly once, later. Refused at once (false): bad URL, http beyond loopback.
bool rb_http_send(struct rb_http *h, const struct rb_http_request *r, rb_http_fn *fn, void *arg, struct rb_err *err);
// Ends every pending request that carries this arg, without a callback.
void rb_http_cancel(struct rb_http *h, const void *arg);

// How long the peer asks us to wait (seconds or a date), at most 68 years; -1: it gives no time.
int64_t rb_http_retry_after_us(const struct rb_http_response *response, int64_t unix_us);
// The peer's clock as its Date header shows it, unix microseconds; -1: no such header.
int64_t rb_http_date_us(const struct rb_http_response *response);

// Is this endpoint http(s)://loopback?
bool rb_http_is_loopback(const char *url);

#endif
