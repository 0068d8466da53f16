// What every connection of ours has: verified TLS, https alone beyond loopback, and what a service needs of its own.
#ifndef RB_PROVIDERS_HTTP_TLS_H
#define RB_PROVIDERS_HTTP_TLS_H

#include "providers/wire/http.h"

#include <curl/curl.h>

// local: plain http is allowed, and no proxy is used. ca_file NULL: the system's. Fails if this libcurl does not know an
// option: going on without would be going on unprotected.
bool rb_http_protect(CURL *easy, bool local, const char *ca_file, struct rb_err *err);
// peer may be NULL. Changes the host of the URL where the peer has another name in its certificate; the list belongs to
// the caller, and must live as long as the transfer.
bool rb_http_set_peer(CURL *easy, CURLU *url, const struct rb_http_peer *peer, struct curl_slist **out_connect_to,
                      struct rb_err *err);

#endif
