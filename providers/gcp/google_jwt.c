#include "providers/gcp/google_jwt.h"

#include "base/arena.h"
#include "base/document/json.h"
#include "base/text/units.h"
#include "providers/wire/digest.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

// Always this, whichever server is asked: as Google's own libraries have it.
static const char audience[] = "https://oauth2.googleapis.com/token";
enum { LIFETIME_S = 3600 }; // the longest they take

// Base64 in the URL's alphabet, without padding.
static void put_base64url(const void *bytes, size_t n, struct rb_buf *out)
{
    RB_AUTO(rb_auto_free) char *text = rb_xcalloc(4 * ((n + 2) / 3) + 1, 1);
    rb_base64_encode(bytes, n, text);
    for (const char *c = text; *c && *c != '='; c++)
        rb_buf_putc(out, *c == '+' ? '-' : *c == '/' ? '_' : *c);
}

static void put_header(const struct rb_google_jwt *jwt, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_json_put(&j, "{alg: 'RS256', typ: 'JWT', kid: %s}", jwt->key_id[0] ? jwt->key_id : NULL);
    put_base64url(text.data, text.len, out);
}

static void put_claims(const struct rb_google_jwt *jwt, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    const int64_t now_s = jwt->unix_us / RB_US_PER_S;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_json_put(&j, "{iss: %s, scope: %s, aud: %s, iat: %jd, exp: %jd}", jwt->email, jwt->scope, audience, now_s,
                now_s + LIFETIME_S);
    put_base64url(text.data, text.len, out);
}

// OpenSSL would ask for the passphrase of an encrypted key on the terminal.
static int no_passphrase(char *buffer, int size, int writing, void *arg)
{
    (void)buffer, (void)size, (void)writing, (void)arg;
    return -1;
}

static EVP_PKEY *read_key(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
    BIO_free(bio);
    return key;
}

static bool put_signature(EVP_PKEY *key, const struct rb_buf *message, struct rb_buf *out)
{
    uint8_t signature[1024]; // RSA of 8192 bits
    size_t n = sizeof signature;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    const bool ok = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
                    EVP_DigestSign(ctx, signature, &n, (const uint8_t *)message->data, message->len) == 1;
    EVP_MD_CTX_free(ctx);
    if (ok)
        put_base64url(signature, n, out);
    return ok;
}

bool rb_google_jwt_sign(const struct rb_google_jwt *jwt, struct rb_buf *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf message = RB_BUF_INIT, signature = RB_BUF_INIT;
    EVP_PKEY *key = read_key(jwt->private_key);
    if (!key || EVP_PKEY_base_id(key) != EVP_PKEY_RSA) {
        EVP_PKEY_free(key);
        return rb_err_set(err, RB_E_CREDENTIALS_UNUSABLE,
                          "private_key of %s: expected an RSA key in PEM without a passphrase; create a new key file",
                          jwt->email);
    }
    put_header(jwt, &message);
    rb_buf_putc(&message, '.');
    put_claims(jwt, &message);
    const bool ok = put_signature(key, &message, &signature);
    EVP_PKEY_free(key);
    if (!ok)
        return rb_err_set(err, RB_E_CREDENTIALS_UNUSABLE, "private_key of %s does not sign; create a new key file",
                          jwt->email);
    rb_buf_printf(out, "%s.%s", rb_buf_str(&message), rb_buf_str(&signature));
    return true;
}
