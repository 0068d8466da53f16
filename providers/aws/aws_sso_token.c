// Source: botocore (botocore.utils.SSOTokenLoader): the file is named after the SHA-1 of session name or start URL.
#include "providers/aws/aws_sso_token.h"

#include "base/text/buf.h"
#include "base/text/units.h"
#include "providers/wire/digest.h"
#include "providers/wire/private_file.h"

#include <openssl/evp.h>

#include <stdio.h>
#include <string.h>

static const char remedy[] = "run: aws sso login";

static char *cache_path(const char *session)
{
    unsigned char digest[20];
    char hex[2 * sizeof digest + 1];
    struct rb_buf name RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    EVP_Digest(session, strlen(session), digest, NULL, EVP_sha1(), NULL);
    rb_digest_hex(digest, sizeof digest, hex);
    rb_buf_printf(&name, ".aws/sso/cache/%s.json", hex);
    return rb_private_file_path(NULL, name.data);
}

static bool read_token(const struct rb_doc *doc, int64_t unix_us, char *out, size_t size, int64_t *out_ends_us,
                       struct rb_err *err)
{
    const char *token, *expires;
    int64_t expires_at_us;
    if (!rb_node_string(rb_node_member(doc->root, "accessToken"), &token, err) ||
        !rb_node_string(rb_node_member(doc->root, "expiresAt"), &expires, err) ||
        !rb_parse_instant(expires, &expires_at_us, err))
        return false;
    if (expires_at_us <= unix_us)
        return rb_err_set(err, RB_E_CREDENTIALS_EXPIRED, "the token of single sign-on expired at %s; %s", expires,
                          remedy);
    if (strlen(token) >= size)
        return rb_err_set(err, RB_E_CREDENTIALS_UNUSABLE, "accessToken: expected fewer than %zu characters", size);
    snprintf(out, size, "%s", token);
    *out_ends_us = expires_at_us;
    return true;
}

static bool read_file(const struct rb_private_file *file, int64_t unix_us, char *out, size_t size, int64_t *out_ends_us,
                       struct rb_err *err)
{
    RB_AUTO(rb_private_doc_finish) struct rb_doc doc = {0};
    if (!file->present)
        return rb_err_set(err, RB_E_CREDENTIALS_MISSING, "no token of single sign-on in %s; %s", file->path, remedy);
    return rb_private_file_check(file, err) && rb_doc_parse_json(&doc, file->path, file->text, file->len, err) &&
           read_token(&doc, unix_us, out, size, out_ends_us, err);
}

bool rb_aws_sso_token_read(const char *session, int64_t unix_us, char *out, size_t size, int64_t *out_ends_us,
                       struct rb_err *err)
{
    struct rb_private_file file = {.path = cache_path(session)};
    const bool ok = rb_private_file_read(&file, err) && read_file(&file, unix_us, out, size, out_ends_us, err);
    rb_private_file_finish(&file);
    return ok;
}
