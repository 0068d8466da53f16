// Which URLs may be talked to: https anywhere, http to loopback only, no user name in them. Everybody who judges a URL
// uses the parser that later connects, so that the two cannot disagree about the host.
#ifndef RB_PROVIDERS_HTTP_URL_H
#define RB_PROVIDERS_HTTP_URL_H

#include "base/err.h"

#include <curl/curl.h>

CURLU *rb_http_url_parse(const char *text, struct rb_err *err); // NULL: refused; else curl_url_cleanup it
// As above, and plain http to a cloud's metadata service, which speaks nothing else and is not beyond this host's link.
CURLU *rb_http_url_parse_metadata(const char *text, struct rb_err *err);
bool rb_http_url_is_loopback(CURLU *url);
// Is the part absent, or exactly `expected`? CURLUPART_PATH of "https://host" is "/".
bool rb_http_url_part_is(CURLU *url, CURLUPart part, const char *expected);

#endif
