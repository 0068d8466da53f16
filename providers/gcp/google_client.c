#include "providers/gcp/google_client.h"

#include "base/arena.h"
#include "base/errors/log.h"
#include "providers/gcp/google_credentials.h"
#include "providers/gcp/google_project.h"
#include "providers/gcp/google_token.h"
#include "providers/wire/http.h"
#include "providers/wire/http_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENDPOINT_LEN = 512 };

static const struct service {
    const char *origin, *path;
    const char *variables[2]; // the first that is set wins
} services[RB_GOOGLE_N_SERVICES] = {
    [RB_GOOGLE_COMPUTE] = {"https://compute.googleapis.com",
                           "/compute/v1",
                           {"RB_GCP_COMPUTE_ENDPOINT", "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"}},
    [RB_GOOGLE_BILLING] = {"https://cloudbilling.googleapis.com",
                           "/v1",
                           {"RB_GCP_BILLING_ENDPOINT", "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDBILLING"}},
    [RB_GOOGLE_RESOURCES] = {"https://cloudresourcemanager.googleapis.com",
                             "/v1",
                             {"RB_GCP_RESOURCES_ENDPOINT", "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER"}},
};

struct rb_google_client {
    struct rb_google_credentials credentials;
    struct rb_google_tokens *tokens;
    char project[64];
    char endpoints[RB_GOOGLE_N_SERVICES][MAX_ENDPOINT_LEN];
    struct rb_api *apis[RB_GOOGLE_N_SERVICES];
};

static const char *env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

// --- where ---

static bool write_endpoint(const char *url, const char *path, const char *origin, char *out, size_t size,
                           struct rb_err *err)
{
    size_t n = strlen(url);
    while (n > 0 && url[n - 1] == '/')
        n--;
    if (n + strlen(path) >= size)
        return rb_err_set(err, RB_E_ENDPOINT, "%s: expected a URL of fewer than %zu characters", origin, size);
    snprintf(out, size, "%.*s%s", (int)n, url, path);
    return true;
}

// Scheme, host and port of Compute Engine, if it is on loopback.
static bool mock_origin(char *out, size_t size)
{
    if (!rb_google_endpoint(RB_GOOGLE_COMPUTE, out, size, NULL) || !rb_http_is_loopback(out))
        return false;
    char *host = strstr(out, "://");
    if (host)
        host[3 + strcspn(host + 3, "/")] = '\0';
    return true;
}

bool rb_google_endpoint(enum rb_google_service service, char *out, size_t size, struct rb_err *err)
{
    const struct service *s = &services[service];
    const char *name = env(s->variables[0]) ? s->variables[0] : s->variables[1], *url = env(name);
    char mock[MAX_ENDPOINT_LEN];
    if (!url && service != RB_GOOGLE_COMPUTE && mock_origin(mock, sizeof mock))
        return write_endpoint(mock, s->path, "endpoint", out, size, err);
    if (!url)
        return write_endpoint(s->origin, s->path, "endpoint", out, size, err);
    CURLU *parsed = rb_http_url_parse(url, err);
    if (!parsed)
        return rb_err_prefix(err, "%s", name);
    const bool bare = rb_http_url_part_is(parsed, CURLUPART_PATH, "/");
    const bool plain =
        rb_http_url_part_is(parsed, CURLUPART_QUERY, "") && rb_http_url_part_is(parsed, CURLUPART_FRAGMENT, "");
    curl_url_cleanup(parsed);
    if (!plain)
        return rb_err_set(err, RB_E_ENDPOINT, "%s: '%.200s': expected nothing behind the path", name, url);
    return write_endpoint(url, bare ? s->path : "", name, out, size, err);
}

// --- whose ---

// Ids are lower case letters, digits and dashes; old ones have the domain of their owner before them
// ("example.com:name").
static bool is_project(const char *s)
{
    const size_t n = strlen(s);
    return n > 0 && n < 64 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-.:") == n && s[0] >= 'a' && s[0] <= 'z';
}

static bool choose_project(struct rb_google_client *c, struct rb_err *err)
{
    static const char *const variables[] = {"GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"};
    const char *project = NULL;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && !project; i++)
        project = env(variables[i]);
    if (!project)
        project = c->credentials.project;
    if (!*project && c->credentials.identity == RB_GOOGLE_METADATA) {
        if (!rb_google_project_of_machine(c->credentials.token_endpoint, c->credentials.project, err))
            return false;
        project = c->credentials.project;
    }
    if (!*project)
        return rb_err_set(err, RB_E_GCP_PROJECT,
                          "no Google Cloud project: the credentials (%s) name none; set GOOGLE_CLOUD_PROJECT",
                          c->credentials.source);
    if (!is_project(project))
        return rb_err_set(err, RB_E_GCP_PROJECT,
                          "Google Cloud project '%.64s': expected its id, such as my-project-123456", project);
    snprintf(c->project, sizeof c->project, "%s", project);
    return true;
}

// --- calls ---

static void with_token(void *arg, const char *token, const struct rb_err *err)
{
    struct rb_api_try *t = arg;
    const struct rb_google_client *c = rb_api_authority_of(t);
    if (err) {
        rb_api_cannot_transmit(t, err);
        return;
    }
    struct rb_buf authorization = RB_BUF_INIT, quota = RB_BUF_INIT;
    rb_buf_printf(&authorization, "Authorization: Bearer %s", token);
    rb_buf_printf(&quota, "X-Goog-User-Project: %s", c->credentials.quota_project);
    const char *const headers[] = {authorization.data, quota.data};
    rb_api_transmit(t, headers, c->credentials.quota_project[0] ? 2 : 1);
    explicit_bzero(authorization.data, authorization.len);
    rb_buf_finish(&authorization);
    rb_buf_finish(&quota);
}

static void authorise(void *authority, struct rb_api_try *t)
{
    struct rb_google_client *c = authority;
    rb_google_token_get(c->tokens, with_token, t);
}

static bool renew(void *authority, const struct rb_http_response *response, struct rb_err *err)
{
    (void)response, (void)err;
    struct rb_google_client *c = authority;
    rb_google_token_forget(c->tokens);
    return true;
}

void rb_google_send(struct rb_google_client *c, enum rb_google_service service, struct rb_api_call *call)
{
    if (!call->method)
        call->method = call->body.len > 0 ? "POST" : "GET";
    if (call->body.len > 0)
        call->content_type = "application/json";
    rb_api_send(c->apis[service], call);
}

void rb_google_refuse(struct rb_google_client *c, struct rb_api_call *call, const struct rb_err *err)
{
    rb_api_refuse(c->apis[0], call, err);
}

int64_t rb_google_client_clock_us(const struct rb_google_client *c)
{
    return rb_api_clock_us(c->apis[RB_GOOGLE_COMPUTE]);
}

const char *rb_google_client_project(const struct rb_google_client *c)
{
    return c->project;
}

// --- life ---

static void start(struct rb_google_client *c, const struct rb_google_client_config *config)
{
    c->tokens = rb_google_tokens_create(config->loop, config->http, &c->credentials);
    for (int i = 0; i < RB_GOOGLE_N_SERVICES; i++) {
        const struct rb_api_config api = {
            .loop = config->loop,
            .http = config->http,
            .endpoint = c->endpoints[i],
            .judge = config->judge,
            .authority = c,
            .authorise = authorise,
            .renew = renew,
        };
        c->apis[i] = rb_api_create(&api);
    }
}

static bool configure(struct rb_google_client *c, struct rb_err *err)
{
    for (int i = 0; i < RB_GOOGLE_N_SERVICES; i++)
        if (!rb_google_endpoint((enum rb_google_service)i, c->endpoints[i], MAX_ENDPOINT_LEN, err))
            return false;
    return rb_google_credentials_load(rb_http_is_loopback(c->endpoints[RB_GOOGLE_COMPUTE]), &c->credentials, err) &&
           choose_project(c, err);
}

bool rb_google_client_create(const struct rb_google_client_config *config, struct rb_google_client **out,
                             struct rb_err *err)
{
    struct rb_google_client *c = rb_xcalloc(1, sizeof *c);
    if (!configure(c, err)) {
        rb_google_client_destroy(c);
        return false;
    }
    start(c, config);
    rb_trace("provider", "project %s: %s, credentials: %s", c->project, c->endpoints[RB_GOOGLE_COMPUTE],
             c->credentials.source);
    *out = c;
    return true;
}

// The calls go first: those that wait for a token are known to both.
void rb_google_client_destroy(struct rb_google_client *c)
{
    if (!c)
        return;
    for (int i = 0; i < RB_GOOGLE_N_SERVICES; i++)
        rb_api_destroy(c->apis[i]);
    rb_google_tokens_destroy(c->tokens);
    rb_google_credentials_wipe(&c->credentials);
    free(c);
}
