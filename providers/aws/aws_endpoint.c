// Finds the endpoint of an AWS service: the user's setting, else the public host of the region.
#include "providers/aws/aws_endpoint.h"

#include "base/arena.h"
#include "base/text/pattern.h"
#include "providers/aws/aws_config.h"
#include "providers/wire/http_url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// Source: partitions.json of botocore. A region becomes part of a host name: nothing else may.
static const struct partition {
    const char *regions; // extended regular expression
    const char *dns_suffix;
} partitions[] = {
    {"^(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-[0-9]{1,2}$", "amazonaws.com"},
    {"^us-gov-[a-z]+-[0-9]{1,2}$", "amazonaws.com"},
    {"^cn-[a-z]+-[0-9]{1,2}$", "amazonaws.com.cn"},
    {"^eusc-[a-z]+-[a-z]+-[0-9]{1,2}$", "amazonaws.eu"},
};
static const char mock_regions[] = "^[a-z0-9-]{1,32}$"; // the mock cloud names its own

static const struct partition *partition_of(const char *region)
{
    for (size_t i = 0; i < sizeof partitions / sizeof partitions[0]; i++)
        if (rb_pattern_matches(region, partitions[i].regions))
            return &partitions[i];
    return NULL;
}

static bool check_region(const char *region, bool loopback_only, struct rb_err *err)
{
    if (loopback_only ? rb_pattern_matches(region, mock_regions) : partition_of(region) != NULL)
        return true;
    return rb_err_set(err, RB_E_REGION, "region '%.60s': expected a region such as us-east-1", region);
}

static bool write_url(char *out, size_t size, const char *url, const char *origin, struct rb_err *err)
{
    size_t n = strlen(url);
    if (n > 0 && url[n - 1] == '/')
        n--;
    if (n >= size)
        return rb_err_set(err, RB_E_ENDPOINT, "%s: expected a URL of fewer than %zu characters", origin, size);
    memcpy(out, url, n);
    out[n] = '\0';
    return true;
}

// A service's root: scheme, host and port only, because the path is signed as "/".
static bool check_url(const char *text, const char *origin, bool loopback_only, struct rb_err *err)
{
    CURLU *url = rb_http_url_parse(text, err);
    if (!url)
        return rb_err_prefix(err, "%s", origin);
    bool ok = rb_http_url_part_is(url, CURLUPART_PATH, "/") && rb_http_url_part_is(url, CURLUPART_QUERY, "") &&
              rb_http_url_part_is(url, CURLUPART_FRAGMENT, "");
    if (!ok)
        rb_err_set(err, RB_E_ENDPOINT, "%s: '%.200s': expected no path after the host", origin, text);
    if (ok && loopback_only && !rb_http_url_is_loopback(url))
        ok = rb_err_set(err, RB_E_MOCK_ENDPOINT,
                        "%s: '%.200s' is not on loopback, and infra mock/... uses nothing else; start rbmock and "
                        "set AWS_ENDPOINT_URL to the address it prints",
                        origin, text);
    curl_url_cleanup(url);
    return ok;
}

static bool is_true(const char *s)
{
    return s && strcasecmp(s, "true") == 0;
}

// The name of a service in variables and files; its own name is used in host names and signatures.
static const char *id_of(const char *service)
{
    return strcmp(service, "servicequotas") == 0 ? "service_quotas" : service;
}

static const struct rb_aws_setting *from_config(const struct rb_aws_config *config, const char *service)
{
    const struct rb_aws_setting *ignore =
        rb_aws_config_find(config, "profile", config->profile, NULL, "ignore_configured_endpoint_urls");
    if (ignore && is_true(ignore->value))
        return NULL;
    const struct rb_aws_setting *services = rb_aws_config_find(config, "profile", config->profile, NULL, "services");
    const struct rb_aws_setting *url =
        services ? rb_aws_config_find(config, "services", services->value, id_of(service), "endpoint_url") : NULL;
    return url ? url : rb_aws_config_find(config, "profile", config->profile, NULL, "endpoint_url");
}

static bool public_endpoint(const char *service, const char *region, char *out, size_t size, struct rb_err *err)
{
    char url[256];
    const char *host = strcmp(service, "sso") == 0       ? "portal.sso"
                       : strcmp(service, "pricing") == 0 ? "api.pricing"
                                                         : service;
    snprintf(url, sizeof url, "https://%s.%s.%s", host, region, partition_of(region)->dns_suffix);
    return write_url(out, size, url, "endpoint", err);
}

static bool configured_or_public(const char *service, const char *region, bool loopback_only, char *out, size_t size,
                                 struct rb_err *err)
{
    RB_AUTO(rb_aws_config_finish) struct rb_aws_config config = {0};
    if (!rb_aws_config_load(&config, err))
        return false;
    const struct rb_aws_setting *url = from_config(&config, service);
    if (url)
        return check_url(url->value, url->file->path, loopback_only, err) &&
               write_url(out, size, url->value, url->file->path, err);
    if (loopback_only)
        return rb_err_set(err, RB_E_MOCK_ENDPOINT,
                          "infra mock/%s needs a mock cloud; start rbmock and set AWS_ENDPOINT_URL to the address it "
                          "prints (http://127.0.0.1:PORT)",
                          region);
    return public_endpoint(service, region, out, size, err);
}

// AWS_ENDPOINT_URL_EC2, then AWS_ENDPOINT_URL. NULL: neither.
static const char *from_environment(const char *service, char name[static 64])
{
    int n = snprintf(name, 64, "AWS_ENDPOINT_URL_");
    for (const char *s = id_of(service); *s && n < 63; s++)
        name[n++] = (char)toupper((unsigned char)*s);
    name[n] = '\0';
    if (!getenv(name) || !*getenv(name))
        snprintf(name, 64, "AWS_ENDPOINT_URL");
    const char *url = getenv(name);
    return url && *url ? url : NULL;
}

bool rb_aws_endpoint(const char *service, const char *region, bool loopback_only, char *out, size_t size,
                     struct rb_err *err)
{
    char name[64];
    if (!check_region(region, loopback_only, err))
        return false;
    const bool ignore = is_true(getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"));
    const char *url = ignore ? NULL : from_environment(service, name);
    if (url)
        return check_url(url, name, loopback_only, err) && write_url(out, size, url, name, err);
    if (ignore && !loopback_only)
        return public_endpoint(service, region, out, size, err);
    if (ignore)
        return rb_err_set(err, RB_E_MOCK_ENDPOINT,
                          "infra mock/%s: AWS_IGNORE_CONFIGURED_ENDPOINT_URLS hides the mock cloud; unset it", region);
    return configured_or_public(service, region, loopback_only, out, size, err);
}
