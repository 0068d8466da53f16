// Judging URLs with libcurl's own parser.
#include "providers/wire/http_url.h"

#include <arpa/inet.h>
#include <string.h>

bool rb_http_url_part_is(CURLU *url, CURLUPart part, const char *expected)
{
    char *value = NULL;
    const bool present = curl_url_get(url, part, &value, 0) == CURLUE_OK;
    const bool equal = strcmp(present ? value : "", expected) == 0;
    curl_free(value);
    return equal;
}

// 127.0.0.0/8, ::1, or the name that curl itself resolves to them without a name server.
bool rb_http_url_is_loopback(CURLU *url)
{
    if (rb_http_url_part_is(url, CURLUPART_HOST, "localhost") || rb_http_url_part_is(url, CURLUPART_HOST, "[::1]"))
        return true;
    char *host = NULL;
    struct in_addr address;
    const bool loopback = curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                          inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
    curl_free(host);
    return loopback;
}

// Fixed addresses that are not routed beyond this machine's link.
static bool is_metadata_service(CURLU *url)
{
    static const char *const hosts[] = {
        "169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", // machines
        "169.254.170.2",   "169.254.170.23",  "[fd00:ec2::23]",           // containers of ECS and EKS
    };
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (rb_http_url_part_is(url, CURLUPART_HOST, hosts[i]))
            return true;
    return false;
}

static bool check_scheme(CURLU *url, const char *text, bool metadata, struct rb_err *err)
{
    if (rb_http_url_part_is(url, CURLUPART_SCHEME, "https"))
        return true;
    if (rb_http_url_part_is(url, CURLUPART_SCHEME, "http") &&
        (rb_http_url_is_loopback(url) || (metadata && is_metadata_service(url))))
        return true;
    return rb_err_set(err, RB_E_ENDPOINT,
                      "URL '%.200s': refused; expected https://, or http:// to a loopback address only", text);
}

static CURLU *parse(const char *text, bool metadata, struct rb_err *err)
{
    CURLU *url = curl_url();
    const CURLUcode rc = url ? curl_url_set(url, CURLUPART_URL, text, CURLU_DISALLOW_USER) : CURLUE_OUT_OF_MEMORY;
    if (rc == CURLUE_OK && check_scheme(url, text, metadata, err))
        return url;
    if (rc != CURLUE_OK)
        rb_err_set(err, RB_E_ENDPOINT, "URL '%.200s': %s; expected https://HOST[:PORT][/PATH]", text,
                   curl_url_strerror(rc));
    curl_url_cleanup(url);
    return NULL;
}

CURLU *rb_http_url_parse(const char *text, struct rb_err *err)
{
    return parse(text, false, err);
}

CURLU *rb_http_url_parse_metadata(const char *text, struct rb_err *err)
{
    return parse(text, true, err);
}
