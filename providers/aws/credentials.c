#include "providers/aws/credentials.h"

#include "base/text/units.h"

#include <stdio.h>
#include <string.h>

static bool copy(char *out, size_t size, const char *value, const char *what, struct rb_err *err)
{
    if (strlen(value) >= size)
        return rb_err_set(err, RB_E_CREDENTIALS_UNUSABLE, "%s: expected fewer than %zu characters", what, size);
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

bool rb_aws_credentials_set(struct rb_aws_credentials *c, const char *access, const char *secret, const char *token,
                            const char *source, struct rb_err *err)
{
    if (!is_header_text(access) || (token && !is_header_text(token)))
        return rb_err_set(err, RB_E_CREDENTIALS_UNUSABLE,
                          "%s: access key or session token contains a blank or control character", source);
    c->source = source;
    return copy(c->access_key, sizeof c->access_key, access, "access key", err) &&
           copy(c->secret_key, sizeof c->secret_key, secret, "secret access key", err) &&
           copy(c->session_token, sizeof c->session_token, token ? token : "", "session token", err);
}

static bool member(const struct rb_node *node, const char *key, bool required, const char **out, struct rb_err *err)
{
    const struct rb_node *n = rb_node_member(node, key);
    *out = NULL;
    if (n && n->kind != RB_NODE_NULL)
        return rb_node_string(n, out, err);
    return !required || rb_err_set(err, RB_E_CREDENTIALS_UNUSABLE, "key %s is missing", key);
}

bool rb_aws_credentials_read(const struct rb_node *node, const char *token_key, const char *source,
                             struct rb_aws_credentials *out, struct rb_err *err)
{
    const char *access, *secret, *token, *expiration;
    struct rb_aws_credentials c = {.expires_at_us = -1};
    const bool ok =
        member(node, "AccessKeyId", true, &access, err) && member(node, "SecretAccessKey", true, &secret, err) &&
        member(node, token_key, false, &token, err) && member(node, "Expiration", false, &expiration, err) &&
        (!expiration || rb_parse_instant(expiration, &c.expires_at_us, err)) &&
        rb_aws_credentials_set(&c, access, secret, token, source, err);
    if (ok)
        *out = c;
    rb_aws_credentials_wipe(&c);
    return ok;
}

void rb_aws_credentials_wipe(struct rb_aws_credentials *c)
{
    explicit_bzero(c, sizeof *c);
}
