// The chain of sources, in the order of the AWS tools. Sources: botocore.credentials (HEAD of 2026-08), and "Assume
// role credential provider", "Container credential provider" and "IMDS credential provider" of the SDKs' reference
// guide.
#include "providers/aws/aws_identity.h"

#include "base/file.h"
#include "base/text/units.h"
#include "providers/aws/aws_config.h"
#include "providers/aws/aws_sso_token.h"
#include "providers/aws/credential_process.h"
#include "providers/wire/http_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum found { FOUND_NOTHING, FOUND, FOUND_ERROR };

struct search {
    struct rb_aws_config config;
    int64_t unix_us;
    struct rb_aws_identity *out;
    const char *visited[RB_AWS_MAX_ROLES]; // profiles whose role is wanted, the outermost first
    int n_visited;
    struct rb_err *err;
};

static const char *env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static enum found found_if(bool ok)
{
    return ok ? FOUND : FOUND_ERROR;
}

static bool copy(char *out, size_t size, const char *value, const char *what, struct rb_err *err)
{
    if (strlen(value) >= size)
        return rb_err_set(err, RB_E_CREDENTIALS_UNUSABLE, "%s: expected fewer than %zu characters", what, size);
    snprintf(out, size, "%s", value);
    return true;
}

// --- the environment ---

static enum found from_environment(struct search *s)
{
    const char *access = env("AWS_ACCESS_KEY_ID"), *secret = env("AWS_SECRET_ACCESS_KEY");
    const char *token = env("AWS_SESSION_TOKEN"), *expiration = env("AWS_CREDENTIAL_EXPIRATION");
    struct rb_aws_credentials *c = &s->out->keys;
    if (!access && !secret)
        return FOUND_NOTHING;
    if (!access || !secret) {
        rb_err_set(s->err, RB_E_CREDENTIALS_UNUSABLE, "environment: %s is set without %s; set both or neither",
                   access ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                   access ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
        return FOUND_ERROR;
    }
    if (!token)
        token = env("AWS_SECURITY_TOKEN"); // its name of old
    c->expires_at_us = -1;
    if (expiration && !rb_parse_instant(expiration, &c->expires_at_us, s->err)) {
        rb_err_prefix(s->err, "AWS_CREDENTIAL_EXPIRATION");
        return FOUND_ERROR;
    }
    s->out->source = "environment";
    s->out->ends_at_us = c->expires_at_us;
    return found_if(rb_aws_credentials_set(c, access, secret, token, "environment", s->err));
}

// --- settings of a profile ---

static const struct rb_aws_setting *setting(const struct search *s, const char *profile, const char *key)
{
    return rb_aws_config_find(&s->config, "profile", profile, NULL, key);
}

static const char *value(const struct search *s, const char *profile, const char *key)
{
    const struct rb_aws_setting *found = setting(s, profile, key);
    return found ? found->value : NULL;
}

__attribute__((format(printf, 3, 4))) static enum found setting_error(const struct search *s,
                                                                      const struct rb_aws_setting *at, const char *fmt,
                                                                      ...)
{
    char reason[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    rb_err_set_at(s->err, RB_E_CREDENTIALS_UNUSABLE, (struct rb_place){.file = at->file->path, .line = at->line},
                  at->key, "%s", reason);
    return FOUND_ERROR;
}

// --- keys in one of the two files ---

static const struct rb_aws_setting *in_file(const struct search *s, const struct rb_private_file *file,
                                            const char *profile, const char *key)
{
    for (int i = 0; i < s->config.n_settings; i++) {
        const struct rb_aws_setting *at = &s->config.settings[i];
        if (at->file == file && !at->group && strcmp(at->kind, "profile") == 0 && strcmp(at->name, profile) == 0 &&
            strcmp(at->key, key) == 0)
            return at;
    }
    return NULL;
}

static enum found keys_in(struct search *s, const struct rb_private_file *file, const char *profile)
{
    const struct rb_aws_setting *access = in_file(s, file, profile, "aws_access_key_id");
    const struct rb_aws_setting *secret = in_file(s, file, profile, "aws_secret_access_key");
    const struct rb_aws_setting *token = in_file(s, file, profile, "aws_session_token");
    if (!access && !secret)
        return FOUND_NOTHING;
    if (!access || !secret)
        return setting_error(s, access ? access : secret,
                             "expected aws_access_key_id and aws_secret_access_key side by side in this file");
    s->out->source = "profile";
    s->out->keys.expires_at_us = -1;
    return found_if(rb_private_file_check(file, s->err) &&
                    rb_aws_credentials_set(&s->out->keys, access->value, secret->value, token ? token->value : NULL,
                                           "profile", s->err));
}

static bool has_keys(const struct search *s, const char *profile)
{
    return setting(s, profile, "aws_access_key_id") || setting(s, profile, "aws_secret_access_key");
}

// --- credential_process ---

static bool read_process_output(const struct rb_doc *doc, struct rb_aws_credentials *c, struct rb_err *err)
{
    int64_t version = 0;
    const struct rb_node *stated = rb_node_member(doc->root, "Version");
    if (stated && !rb_node_int(stated, 1, 1, &version, err))
        return false;
    if (version != 1)
        return rb_err_set(err, RB_E_CREDENTIALS_UNUSABLE, "expected a JSON object with \"Version\": 1");
    return rb_aws_credentials_read(doc->root, "SessionToken", "credential_process", c, err);
}

static bool parse_process_output(const struct rb_buf *text, struct rb_aws_credentials *c, struct rb_err *err)
{
    RB_AUTO(rb_private_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "credential_process", rb_buf_str(text), text->len, err))
        return false;
    const bool ok = read_process_output(&doc, c, err);
    return ok || rb_err_prefix(err, "output of credential_process");
}

static enum found from_process(struct search *s, const char *profile)
{
    const struct rb_aws_setting *command = setting(s, profile, "credential_process");
    if (!command)
        return FOUND_NOTHING;
    RB_AUTO(rb_buf_finish) struct rb_buf output = RB_BUF_INIT;
    const bool ok = rb_private_file_check(command->file, s->err) &&
                    rb_credential_process_run(command->value, &output, s->err) &&
                    parse_process_output(&output, &s->out->keys, s->err);
    if (output.data)
        explicit_bzero(output.data, output.cap);
    s->out->source = "credential_process";
    return found_if(ok);
}

// --- single sign-on ---

static bool need(const struct search *s, const struct rb_aws_setting *at, const char *kind, const char *name,
                 const char *key, const char **out)
{
    const struct rb_aws_setting *found = rb_aws_config_find(&s->config, kind, name, NULL, key);
    if (!found) {
        setting_error(s, at, "needs %s in [%s %s]; run: aws configure sso", key, kind, name);
        return false;
    }
    *out = found->value;
    return true;
}

static enum found from_sso(struct search *s, const char *profile)
{
    const struct rb_aws_setting *session = setting(s, profile, "sso_session");
    const struct rb_aws_setting *start = setting(s, profile, "sso_start_url");
    const struct rb_aws_setting *at = session ? session : start;
    const char *account, *role, *region;
    struct rb_aws_identity *o = s->out;
    if (!at && !setting(s, profile, "sso_account_id"))
        return FOUND_NOTHING;
    if (!at)
        return setting_error(s, setting(s, profile, "sso_account_id"),
                             "needs sso_session beside it; run: aws configure sso");
    if (!need(s, at, "profile", profile, "sso_account_id", &account) ||
        !need(s, at, "profile", profile, "sso_role_name", &role) ||
        !need(s, at, session ? "sso-session" : "profile", session ? session->value : profile, "sso_region", &region))
        return FOUND_ERROR;
    o->origin = RB_AWS_SSO;
    o->source = "single sign-on";
    return found_if(copy(o->account, sizeof o->account, account, "sso_account_id", s->err) &&
                    copy(o->sso_role, sizeof o->sso_role, role, "sso_role_name", s->err) &&
                    copy(o->sso_region, sizeof o->sso_region, region, "sso_region", s->err) &&
                    rb_aws_sso_token_read(at->value, s->unix_us, o->token, sizeof o->token, &o->ends_at_us, s->err));
}

// --- web identity ---

static bool read_token_file(const char *path, char *out, size_t size, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *text = NULL;
    size_t n;
    if (!rb_read_file(path, size - 1, &text, &n, err))
        return rb_err_prefix(err, "token file");
    n = strcspn(text, "\r\n");
    const bool fits = n > 0 && n < size;
    if (fits)
        snprintf(out, size, "%.*s", (int)n, text);
    explicit_bzero(text, strlen(text));
    return fits || rb_err_set(err, RB_E_CREDENTIALS_UNUSABLE, "%s: expected a token in one line", path);
}

static bool describe_role(struct rb_aws_role *role, const char *arn, const char *session, struct rb_err *err)
{
    return copy(role->arn, sizeof role->arn, arn, "role_arn", err) &&
           copy(role->session_name, sizeof role->session_name, session ? session : "rubberband", "role_session_name",
                err);
}

static enum found by_web_identity(struct search *s, const char *arn, const char *path, const char *session)
{
    s->out->origin = RB_AWS_WEB_IDENTITY;
    s->out->source = "web identity";
    return found_if(describe_role(&s->out->web_role, arn, session, s->err) &&
                    read_token_file(path, s->out->token, sizeof s->out->token, s->err));
}

static enum found from_web_identity(struct search *s, const char *profile)
{
    const struct rb_aws_setting *path = setting(s, profile, "web_identity_token_file");
    const char *arn = value(s, profile, "role_arn");
    if (!path)
        return FOUND_NOTHING;
    if (!arn)
        return setting_error(s, path, "needs role_arn beside it");
    return by_web_identity(s, arn, path->value, value(s, profile, "role_session_name"));
}

static enum found from_web_identity_of_environment(struct search *s)
{
    const char *path = env("AWS_WEB_IDENTITY_TOKEN_FILE"), *arn = env("AWS_ROLE_ARN");
    if (!path)
        return FOUND_NOTHING;
    if (!arn) {
        rb_err_set(s->err, RB_E_CREDENTIALS_UNUSABLE,
                   "AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN; set both or neither");
        return FOUND_ERROR;
    }
    return by_web_identity(s, arn, path, env("AWS_ROLE_SESSION_NAME"));
}

// --- container and instance ---

static bool use_url(struct rb_aws_identity *o, const char *url, const char *origin, struct rb_err *err)
{
    CURLU *parsed = rb_http_url_parse_metadata(url, err);
    if (!parsed)
        return rb_err_prefix(err, "%s", origin);
    curl_url_cleanup(parsed);
    return copy(o->url, sizeof o->url, url, origin, err);
}

// The file is read again every time: EKS replaces the token in it.
static bool use_container_token(struct rb_aws_identity *o, struct rb_err *err)
{
    const char *path = env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"), *token = env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    if (path)
        return read_token_file(path, o->token, sizeof o->token, err);
    if (!token)
        return true;
    if (strpbrk(token, "\r\n"))
        return rb_err_set(err, RB_E_CREDENTIALS_UNUSABLE,
                          "AWS_CONTAINER_AUTHORIZATION_TOKEN: expected a token in one line");
    return copy(o->token, sizeof o->token, token, "AWS_CONTAINER_AUTHORIZATION_TOKEN", err);
}

static enum found from_container(struct search *s)
{
    const char *relative = env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    char url[512];
    if (!relative && !full)
        return FOUND_NOTHING;
    s->out->origin = RB_AWS_CONTAINER;
    s->out->source = "container";
    if (relative && relative[0] != '/') {
        rb_err_set(s->err, RB_E_CREDENTIALS_UNUSABLE,
                   "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: expected a path that begins with /");
        return FOUND_ERROR;
    }
    snprintf(url, sizeof url, "http://169.254.170.2%.480s", relative ? relative : "");
    return found_if(use_url(s->out, relative ? url : full,
                            relative ? "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI" : "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                            s->err) &&
                    use_container_token(s->out, s->err));
}

static bool starts_with(const char *path, const char *word)
{
    RB_AUTO(rb_auto_free) char *text = NULL;
    size_t n;
    return rb_read_file(path, 4096, &text, &n, NULL) && strncasecmp(text, word, strlen(word)) == 0;
}

// Asking the network would take seconds everywhere else: firmware (Nitro) or hypervisor (Xen) say whose machine it is.
static bool is_their_machine(void)
{
    return starts_with("/sys/class/dmi/id/sys_vendor", "Amazon EC2") || starts_with("/sys/hypervisor/uuid", "ec2");
}

static enum found from_instance(struct search *s, bool asked_for)
{
    const char *disabled = env("AWS_EC2_METADATA_DISABLED"), *url = env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *mode = env("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    if ((disabled && strcasecmp(disabled, "true") == 0) || !(url || asked_for || is_their_machine()))
        return FOUND_NOTHING;
    s->out->origin = RB_AWS_INSTANCE;
    s->out->source = "instance";
    const bool ipv6 = mode && strcasecmp(mode, "IPv6") == 0;
    if (!use_url(s->out,
                 url    ? url
                 : ipv6 ? "http://[fd00:ec2::254]"
                        : "http://169.254.169.254",
                 "AWS_EC2_METADATA_SERVICE_ENDPOINT", s->err))
        return FOUND_ERROR;
    const size_t n = strlen(s->out->url);
    if (s->out->url[n - 1] == '/')
        s->out->url[n - 1] = '\0';
    return FOUND;
}

// --- roles ---

static enum found from_profile(struct search *s, const char *profile);

static enum found from_credential_source(struct search *s, const struct rb_aws_setting *at)
{
    enum found found = FOUND_ERROR;
    if (strcmp(at->value, "Environment") == 0)
        found = from_environment(s);
    else if (strcmp(at->value, "EcsContainer") == 0)
        found = from_container(s);
    else if (strcmp(at->value, "Ec2InstanceMetadata") == 0)
        found = from_instance(s, true);
    else
        return setting_error(s, at, "expected Environment, Ec2InstanceMetadata or EcsContainer");
    return found == FOUND_NOTHING ? setting_error(s, at, "%s has no credentials", at->value) : found;
}

static bool is_visited(const struct search *s, const char *profile)
{
    for (int i = 0; i < s->n_visited; i++)
        if (strcmp(s->visited[i], profile) == 0)
            return true;
    return false;
}

// Keys of the source profile go before its own role, so that a profile may be its own source.
static enum found from_source_profile(struct search *s, const struct rb_aws_setting *at)
{
    if (!rb_aws_config_has(&s->config, "profile", at->value))
        return setting_error(s, at, "there is no profile '%s'", at->value);
    if (!has_keys(s, at->value) && is_visited(s, at->value))
        return setting_error(s, at, "profile '%s' is its own source, and has no keys", at->value);
    const enum found found = from_profile(s, at->value);
    return found == FOUND_NOTHING ? setting_error(s, at, "profile '%s' has no credentials", at->value) : found;
}

static bool add_role(struct search *s, const struct rb_aws_setting *arn, const char *profile)
{
    const struct rb_aws_setting *duration = setting(s, profile, "duration_seconds");
    const char *external = value(s, profile, "external_id");
    struct rb_aws_role *role = &s->out->roles[s->out->n_roles];
    char *end = NULL;
    if (duration) {
        role->duration_s = strtol(duration->value, &end, 10);
        if (*end || role->duration_s < 900 || role->duration_s > 43200) {
            setting_error(s, duration, "expected 900..43200");
            return false;
        }
    }
    s->out->n_roles++;
    s->out->source = "assumed role";
    return describe_role(role, arn->value, value(s, profile, "role_session_name"), s->err) &&
           copy(role->external_id, sizeof role->external_id, external ? external : "", "external_id", s->err);
}

static enum found from_role(struct search *s, const char *profile)
{
    const struct rb_aws_setting *arn = setting(s, profile, "role_arn");
    const struct rb_aws_setting *source = setting(s, profile, "source_profile");
    const struct rb_aws_setting *elsewhere = setting(s, profile, "credential_source");
    if (!arn || setting(s, profile, "web_identity_token_file") || (s->n_visited > 0 && has_keys(s, profile)))
        return FOUND_NOTHING;
    if (!source == !elsewhere)
        return setting_error(s, arn, "needs source_profile or credential_source beside it, one of the two");
    if (setting(s, profile, "mfa_serial"))
        return setting_error(s, setting(s, profile, "mfa_serial"),
                             "the code cannot be typed in here; run: eval \"$(aws configure export-credentials "
                             "--profile %s --format env)\" first",
                             profile);
    if (s->n_visited == RB_AWS_MAX_ROLES)
        return setting_error(s, arn, "more than %d roles in a row", RB_AWS_MAX_ROLES);
    s->visited[s->n_visited++] = profile;
    const enum found found = source ? from_source_profile(s, source) : from_credential_source(s, elsewhere);
    return found == FOUND ? found_if(add_role(s, arn, profile)) : found;
}

// --- the chain ---

static enum found refuse_login(struct search *s, const char *profile)
{
    const struct rb_aws_setting *login = setting(s, profile, "login_session");
    return login ? setting_error(s, login,
                                 "sessions of `aws login` are not supported yet; run: eval \"$(aws configure "
                                 "export-credentials --format env)\" first")
                 : FOUND_NOTHING;
}

static enum found from_profile(struct search *s, const char *profile)
{
    enum found found = from_role(s, profile);
    if (found == FOUND_NOTHING)
        found = from_web_identity(s, profile);
    if (found == FOUND_NOTHING)
        found = from_sso(s, profile);
    if (found == FOUND_NOTHING)
        found = keys_in(s, &s->config.credentials, profile);
    if (found == FOUND_NOTHING)
        found = refuse_login(s, profile);
    if (found == FOUND_NOTHING)
        found = from_process(s, profile);
    if (found == FOUND_NOTHING)
        found = keys_in(s, &s->config.config, profile);
    return found;
}

static bool check_profile(const struct search *s)
{
    const struct rb_aws_config *c = &s->config;
    return !c->profile_is_chosen || rb_aws_config_has(c, "profile", c->profile) ||
           rb_err_set(s->err, RB_E_CREDENTIALS_MISSING, "profile '%s' (AWS_PROFILE) is neither in %s nor in %s",
                      c->profile, c->credentials.path, c->config.path);
}

// A web identity in the environment comes between the profile's role and the rest of the profile.
static enum found from_files(struct search *s)
{
    if (!rb_aws_config_load(&s->config, s->err) || !check_profile(s))
        return FOUND_ERROR;
    enum found found = from_role(s, s->config.profile);
    if (found == FOUND_NOTHING)
        found = from_web_identity_of_environment(s);
    if (found == FOUND_NOTHING)
        found = from_profile(s, s->config.profile);
    return found;
}

static enum found search(struct search *s)
{
    enum found found = from_environment(s);
    if (found == FOUND_NOTHING)
        found = from_files(s);
    if (found == FOUND_NOTHING)
        found = from_container(s);
    if (found == FOUND_NOTHING)
        found = from_instance(s, false);
    return found;
}

bool rb_aws_identity_find(int64_t unix_us, struct rb_aws_identity *out, struct rb_err *err)
{
    struct rb_aws_identity identity = {.keys = {.expires_at_us = -1}, .ends_at_us = -1};
    struct search s = {.unix_us = unix_us, .out = &identity, .err = err};
    const enum found found = search(&s);
    if (found == FOUND)
        *out = identity;
    if (found == FOUND_NOTHING)
        rb_err_set(err, RB_E_CREDENTIALS_MISSING,
                   "no AWS credentials: looked at the environment, profile '%s' in %s and %s, container and instance; "
                   "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run: aws configure",
                   s.config.profile, s.config.credentials.path, s.config.config.path);
    rb_aws_config_finish(&s.config);
    rb_aws_identity_wipe(&identity);
    return found == FOUND;
}

void rb_aws_identity_wipe(struct rb_aws_identity *i)
{
    explicit_bzero(i, sizeof *i);
}
