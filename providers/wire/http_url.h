// Decides which URLs may be used: https anywhere, http to loopback only, no user name in them. All checks use the
// parser that later connects, so that the two cannot disagree about the host.
#ifndef RB_PROVIDERS_HTTP_URL_H
#define RB_PROVIDERS_HTTP_URL_H

#include "base/errors/err.h"

#include <curl/curl.h>

CURLU *rb_http_url_parse(const char *text, struct rb_err *err); // NULL: refused; else curl_url_cleanup it
// As above, but also accepts plain http to a cloud's metadata service, which offers only http and is on this host's
// link.
CURLU *rb_http_url_parse_metadata(const char *text, struct rb_err *err);
bool rb_http_url_is_loopback(CURLU *url);
// Is the part absent, or exactly `expected`? CURLUPART_PATH of "https://host" is "/".
bool rb_http_url_part_is(CURLU *url, CURLUPart part, const char *expected);

#endif
