// The chain of sources, in the order of the AWS tools. A source that is configured but not supported ends the search with
// its name: falling through it would sign with somebody else's keys.
#include "providers/credentials.h"

#include "base/arena.h"
#include "base/doc.h"
#include "base/units.h"
#include "providers/aws_config.h"
#include "providers/credential_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum found { FOUND_NOTHING, FOUND, FOUND_ERROR };

static const char *env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static bool copy(char *out, size_t size, const char *value, const char *what, struct rb_err *err)
{
    if (strlen(value) >= size)
        return rb_err_set(err, RB_ERR_DENIED, "%s: expected fewer than %zu characters", what, size);
    snprintf(out, size, "%s", value);
    return true;
}

// These parts go into HTTP headers.
static bool is_header_text(const char *s)
{
    for (; *s; s++)
        if (*s < 0x21 || *s > 0x7e)
            return false;
    return true;
}

static bool fill(struct rb_aws_credentials *c, const char *access, const char *secret, const char *token,
                 const char *source, struct rb_err *err)
{
    if (!is_header_text(access) || (token && !is_header_text(token)))
        return rb_err_set(err, RB_ERR_DENIED, "%s: access key or session token contains a blank or control character",
                          source);
    c->source = source;
    return copy(c->access_key, sizeof c->access_key, access, "access key", err) &&
           copy(c->secret_key, sizeof c->secret_key, secret, "secret access key", err) &&
           copy(c->session_token, sizeof c->session_token, token ? token : "", "session token", err);
}

static enum found from_environment(struct rb_aws_credentials *c, struct rb_err *err)
{
    const char *access = env("AWS_ACCESS_KEY_ID"), *secret = env("AWS_SECRET_ACCESS_KEY");
    const char *token = env("AWS_SESSION_TOKEN"), *expiration = env("AWS_CREDENTIAL_EXPIRATION");
    if (!access && !secret)
        return FOUND_NOTHING;
    if (!access || !secret) {
        rb_err_set(err, RB_ERR_DENIED, "environment: %s is set without %s; set both or neither",
                   access ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                   access ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
        return FOUND_ERROR;
    }
    if (!token)
        token = env("AWS_SECURITY_TOKEN"); // its name of old
    if (expiration && !rb_parse_instant(expiration, &c->expires_at_us, err)) {
        rb_err_prefix(err, "AWS_CREDENTIAL_EXPIRATION");
        return FOUND_ERROR;
    }
    return fill(c, access, secret, token, "environment", err) ? FOUND : FOUND_ERROR;
}

static const struct rb_aws_setting *profile_setting(const struct rb_aws_config *config, const char *key)
{
    return rb_aws_config_find(config, "profile", config->profile, NULL, key);
}

static const char unsupported_remedy[] =
    "not supported yet; run: eval \"$(aws configure export-credentials --format env)\" first";

static bool setting_error(const struct rb_aws_setting *s, struct rb_err *err, const char *reason)
{
    return rb_err_set_at(err, RB_ERR_DENIED, (struct rb_place){.file = s->file->path, .line = s->line}, s->key, "%s",
                         reason);
}

// Sources that the AWS tools try before static keys.
static bool refuse_unsupported_profile(const struct rb_aws_config *config, struct rb_err *err)
{
    static const char *const keys[] = {"role_arn",      "web_identity_token_file", "sso_session",
                                       "sso_start_url", "sso_account_id",          "login_session"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct rb_aws_setting *s = profile_setting(config, keys[i]);
        if (s)
            return setting_error(s, err, unsupported_remedy);
    }
    return true;
}

static bool refuse_unsupported_environment(const char *const *names, size_t n, struct rb_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (env(names[i]))
            return rb_err_set(err, RB_ERR_DENIED, "%s: %s", names[i], unsupported_remedy);
    return true;
}

static enum found from_static_profile(const struct rb_aws_config *config, struct rb_aws_credentials *c,
                                      struct rb_err *err)
{
    const struct rb_aws_setting *access = profile_setting(config, "aws_access_key_id");
    const struct rb_aws_setting *secret = profile_setting(config, "aws_secret_access_key");
    const struct rb_aws_setting *token = profile_setting(config, "aws_session_token");
    if (!access && !secret)
        return FOUND_NOTHING;
    if (!access || !secret || access->file != secret->file) {
        setting_error(access ? access : secret, err,
                      "expected aws_access_key_id and aws_secret_access_key side by side in this file");
        return FOUND_ERROR;
    }
    if (token && token->file != secret->file)
        token = NULL; // a token of another key pair
    if (!rb_private_file_check(secret->file, err) ||
        !fill(c, access->value, secret->value, token ? token->value : NULL, "profile", err))
        return FOUND_ERROR;
    return FOUND;
}

static bool member(const struct rb_doc *doc, const char *key, bool required, const char **out, struct rb_err *err)
{
    const struct rb_node *n = rb_node_member(doc->root, key);
    *out = NULL;
    if (n)
        return rb_node_string(n, out, err);
    return !required || rb_err_set(err, RB_ERR_DENIED, "key %s is missing", key);
}

// The AWS tools ignore keys they do not know, and so do we: this is their format.
static bool read_process_output(const struct rb_doc *doc, struct rb_aws_credentials *c, struct rb_err *err)
{
    const char *access, *secret, *token, *expiration;
    int64_t version = 0;
    const struct rb_node *stated = rb_node_member(doc->root, "Version");
    if (stated && !rb_node_int(stated, 1, 1, &version, err))
        return false;
    if (version != 1)
        return rb_err_set(err, RB_ERR_DENIED, "expected a JSON object with \"Version\": 1");
    return member(doc, "AccessKeyId", true, &access, err) && member(doc, "SecretAccessKey", true, &secret, err) &&
           member(doc, "SessionToken", false, &token, err) && member(doc, "Expiration", false, &expiration, err) &&
           (!expiration || rb_parse_instant(expiration, &c->expires_at_us, err)) &&
           fill(c, access, secret, token, "credential_process", err);
}

static bool parse_process_output(const struct rb_buf *text, struct rb_aws_credentials *c, struct rb_err *err)
{
    struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "credential_process", rb_buf_str(text), text->len, err))
        return false;
    const bool ok = read_process_output(&doc, c, err);
    rb_private_doc_finish(&doc);
    return ok || rb_err_prefix(err, "output of credential_process");
}

static enum found from_process(const struct rb_aws_config *config, struct rb_aws_credentials *c, struct rb_err *err)
{
    const struct rb_aws_setting *command = profile_setting(config, "credential_process");
    if (!command)
        return FOUND_NOTHING;
    RB_AUTO(rb_buf_finish) struct rb_buf output = RB_BUF_INIT;
    const bool ok = rb_private_file_check(command->file, err) &&
                    rb_credential_process_run(command->value, &output, err) && parse_process_output(&output, c, err);
    if (output.data)
        explicit_bzero(output.data, output.cap);
    return ok ? FOUND : FOUND_ERROR;
}

static bool no_profile(const struct rb_aws_config *config, struct rb_err *err)
{
    return rb_err_set(err, RB_ERR_DENIED, "profile '%s' (AWS_PROFILE) is neither in %s nor in %s", config->profile,
                      config->credentials.path, config->config.path);
}

static enum found from_files(struct rb_aws_credentials *c, struct rb_err *err)
{
    RB_AUTO(rb_aws_config_finish) struct rb_aws_config config = {0};
    if (!rb_aws_config_load(&config, err))
        return FOUND_ERROR;
    if (config.profile_is_chosen && !rb_aws_config_has(&config, "profile", config.profile)) {
        no_profile(&config, err);
        return FOUND_ERROR;
    }
    if (!refuse_unsupported_profile(&config, err))
        return FOUND_ERROR;
    const enum found found = from_static_profile(&config, c, err);
    return found == FOUND_NOTHING ? from_process(&config, c, err) : found;
}

static enum found search(struct rb_aws_credentials *c, struct rb_err *err)
{
    static const char *const before_files[] = {"AWS_WEB_IDENTITY_TOKEN_FILE"};
    static const char *const after_files[] = {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                              "AWS_CONTAINER_CREDENTIALS_FULL_URI"};
    enum found found = from_environment(c, err);
    if (found != FOUND_NOTHING)
        return found;
    if (!refuse_unsupported_environment(before_files, 1, err))
        return FOUND_ERROR;
    found = from_files(c, err);
    if (found == FOUND_NOTHING && !refuse_unsupported_environment(after_files, 2, err))
        return FOUND_ERROR;
    return found;
}

bool rb_aws_credentials_load(struct rb_aws_credentials *out, struct rb_err *err)
{
    struct rb_aws_credentials c = {.expires_at_us = -1};
    const enum found found = search(&c, err);
    if (found == FOUND)
        *out = c;
    rb_aws_credentials_wipe(&c);
    if (found == FOUND_NOTHING)
        return rb_err_set(err, RB_ERR_DENIED,
                          "no AWS credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run: aws configure "
                          "(those of an instance's own role are not supported yet)");
    return found == FOUND;
}

void rb_aws_credentials_wipe(struct rb_aws_credentials *c)
{
    explicit_bzero(c, sizeof *c);
}
