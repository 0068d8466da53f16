// Source: the google-auth library (google.auth._default, google.oauth2.service_account) and AIP-4110 to 4113.
#include "providers/gcp/google_credentials.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/file.h"
#include "providers/wire/http.h"
#include "providers/wire/http_url.h"
#include "providers/wire/private_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char google_token_endpoint[] = "https://oauth2.googleapis.com/token";
static const char remedy[] = "set GOOGLE_APPLICATION_CREDENTIALS to a service account's key file, or run: gcloud auth "
                             "application-default login";

static const char *env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

// --- where tokens are had ---

static bool copy_endpoint(struct rb_google_credentials *c, const char *url, const char *origin, struct rb_err *err)
{
    CURLU *parsed = rb_http_url_parse(url, err);
    if (!parsed)
        return rb_err_prefix(err, "%s", origin);
    curl_url_cleanup(parsed);
    if (strlen(url) >= sizeof c->token_endpoint)
        return rb_err_set(err, RB_E_ENDPOINT, "%s: expected fewer than %zu characters", origin,
                          sizeof c->token_endpoint);
    snprintf(c->token_endpoint, sizeof c->token_endpoint, "%s", url);
    return true;
}

// A key file that names another server would have us prove our identity to it.
static bool choose_endpoint(struct rb_google_credentials *c, const char *token_uri, bool loopback, struct rb_err *err)
{
    const char *override = env("RB_GCP_TOKEN_ENDPOINT");
    if (override)
        return copy_endpoint(c, override, "RB_GCP_TOKEN_ENDPOINT", err);
    if (!token_uri || strcmp(token_uri, google_token_endpoint) == 0)
        return copy_endpoint(c, google_token_endpoint, "token_uri", err);
    if (loopback && rb_http_is_loopback(token_uri))
        return copy_endpoint(c, token_uri, "token_uri", err);
    return rb_err_set(err, RB_E_CREDENTIALS_UNUSABLE,
                      "token_uri: expected %s, got '%.100s'; RB_GCP_TOKEN_ENDPOINT overrides it", google_token_endpoint,
                      token_uri);
}

// --- files ---

struct reader {
    const struct rb_doc *doc;
    struct rb_err *err;
};

static const char *text(const struct reader *r, const char *key)
{
    const struct rb_node *n = rb_node_member(r->doc->root, key);
    return n && n->kind == RB_NODE_STRING && n->text_len > 0 ? n->text : NULL;
}

static bool missing(const struct reader *r, const char *key)
{
    return rb_err_set_at(r->err, RB_E_CREDENTIALS_UNUSABLE, (struct rb_place){.file = r->doc->file}, key,
                         "expected a text that is not empty");
}

static bool copy(const struct reader *r, const char *key, bool required, char *out, size_t size)
{
    const char *value = text(r, key);
    if (!value)
        return !required || missing(r, key);
    if (strlen(value) >= size)
        return rb_err_set_at(r->err, RB_E_CREDENTIALS_UNUSABLE, (struct rb_place){.file = r->doc->file}, key,
                             "expected fewer than %zu characters", size);
    snprintf(out, size, "%s", value);
    return true;
}

static bool read_service_account(const struct reader *r, struct rb_google_credentials *c)
{
    const char *key = text(r, "private_key");
    if (!key)
        return missing(r, "private_key");
    c->identity = RB_GOOGLE_SERVICE_ACCOUNT;
    c->private_key = rb_xstrdup(key);
    snprintf(c->source, sizeof c->source, "service account");
    return copy(r, "client_email", true, c->email, sizeof c->email) &&
           copy(r, "private_key_id", false, c->key_id, sizeof c->key_id) &&
           copy(r, "project_id", false, c->project, sizeof c->project);
}

static bool read_authorized_user(const struct reader *r, struct rb_google_credentials *c)
{
    c->identity = RB_GOOGLE_AUTHORIZED_USER;
    snprintf(c->source, sizeof c->source, "authorized user");
    return copy(r, "client_id", true, c->client_id, sizeof c->client_id) &&
           copy(r, "client_secret", true, c->client_secret, sizeof c->client_secret) &&
           copy(r, "refresh_token", true, c->refresh_token, sizeof c->refresh_token) &&
           copy(r, "quota_project_id", false, c->quota_project, sizeof c->quota_project);
}

static bool read_document(const struct reader *r, bool loopback, struct rb_google_credentials *c)
{
    const char *type = text(r, "type");
    if (!type)
        return missing(r, "type");
    const bool service_account = strcmp(type, "service_account") == 0;
    if (!service_account && strcmp(type, "authorized_user") != 0)
        return rb_err_set_at(r->err, RB_E_CREDENTIALS_UNUSABLE, (struct rb_place){.file = r->doc->file}, "type",
                             "credentials of type \"%.60s\" are not used here; expected service_account or "
                             "authorized_user: give the key of a service account, say `gcloud auth application-default "
                             "login`, or run on a machine of Google's that has a service account",
                             type);
    const bool read = service_account ? read_service_account(r, c) : read_authorized_user(r, c);
    return read && (choose_endpoint(c, service_account ? text(r, "token_uri") : NULL, loopback, r->err) ||
                    rb_err_prefix(r->err, "%s", r->doc->file));
}

static bool read_file(const struct rb_private_file *file, bool loopback, struct rb_google_credentials *c,
                      struct rb_err *err)
{
    RB_AUTO(rb_private_doc_finish) struct rb_doc doc = {0};
    if (!rb_private_file_check(file, err) || !rb_doc_parse_json(&doc, file->path, file->text, file->len, err))
        return false;
    const struct reader r = {.doc = &doc, .err = err};
    return read_document(&r, loopback, c);
}

// --- the chain ---

enum found { FOUND_NOTHING, FOUND, FOUND_ERROR };

static enum found from_file(char *path, bool must_exist, bool loopback, struct rb_google_credentials *c,
                            struct rb_err *err)
{
    struct rb_private_file file = {.path = path};
    enum found found = FOUND_ERROR;
    if (!rb_private_file_read(&file, err))
        ;
    else if (file.present)
        found = read_file(&file, loopback, c, err) ? FOUND : FOUND_ERROR;
    else if (!must_exist)
        found = FOUND_NOTHING;
    else
        rb_err_set_at(err, RB_E_CREDENTIALS_MISSING, (struct rb_place){.file = path}, NULL,
                      "GOOGLE_APPLICATION_CREDENTIALS names this file, and it does not exist");
    rb_private_file_finish(&file);
    return found;
}

static char *gcloud_file(void)
{
    static const char name[] = "application_default_credentials.json";
    struct rb_buf path = RB_BUF_INIT;
    if (!env("CLOUDSDK_CONFIG"))
        return rb_private_file_path("CLOUDSDK_CONFIG", ".config/gcloud/application_default_credentials.json");
    rb_buf_printf(&path, "%s/%s", env("CLOUDSDK_CONFIG"), name);
    return path.data;
}

// Asking the network would take seconds everywhere else: the firmware of their machines says where it is.
static bool is_their_machine(void)
{
    RB_AUTO(rb_auto_free) char *name = NULL;
    size_t n;
    return rb_read_file("/sys/class/dmi/id/product_name", 4096, &name, &n, NULL) && strncmp(name, "Google", 6) == 0;
}

static enum found from_metadata(struct rb_google_credentials *c, struct rb_err *err)
{
    const char *host = env("GCE_METADATA_HOST"), *no_check = env("NO_GCE_CHECK");
    if (!host && ((no_check && strcasecmp(no_check, "true") == 0) || !is_their_machine()))
        return FOUND_NOTHING;
    char url[300];
    snprintf(url, sizeof url, "http://%.250s", host ? host : "169.254.169.254");
    CURLU *parsed = rb_http_url_parse_metadata(url, err);
    if (!parsed) {
        rb_err_prefix(err, "GCE_METADATA_HOST");
        return FOUND_ERROR;
    }
    curl_url_cleanup(parsed);
    c->identity = RB_GOOGLE_METADATA;
    snprintf(c->token_endpoint, sizeof c->token_endpoint, "%s", url);
    snprintf(c->source, sizeof c->source, "metadata service");
    return FOUND;
}

static enum found search(bool loopback, struct rb_google_credentials *c, struct rb_err *err)
{
    const char *named = env("GOOGLE_APPLICATION_CREDENTIALS");
    if (named)
        return from_file(rb_xstrdup(named), true, loopback, c, err);
    const enum found found = from_file(gcloud_file(), false, loopback, c, err);
    return found == FOUND_NOTHING ? from_metadata(c, err) : found;
}

bool rb_google_credentials_load(bool loopback, struct rb_google_credentials *out, struct rb_err *err)
{
    struct rb_google_credentials c = {0};
    const enum found found = search(loopback, &c, err);
    if (found == FOUND) {
        *out = c;
        explicit_bzero(&c, sizeof c);
        return true;
    }
    rb_google_credentials_wipe(&c);
    return found == FOUND_ERROR ? false
                                : rb_err_set(err, RB_E_CREDENTIALS_MISSING, "no Google credentials; %s", remedy);
}

void rb_google_credentials_wipe(struct rb_google_credentials *c)
{
    if (c->private_key)
        explicit_bzero(c->private_key, strlen(c->private_key));
    free(c->private_key);
    explicit_bzero(c, sizeof *c);
}
