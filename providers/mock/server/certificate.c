#include "providers/mock/server/certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#define LIFE_S (24 * 3600L)

static bool add_extension(X509 *x, int id, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, x, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &context, id, value);
    const bool ok = e && X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
    return ok;
}

static bool fill(X509 *x, EVP_PKEY *key)
{
    X509_NAME *name = X509_get_subject_name(x);
    return X509_set_version(x, 2) && ASN1_INTEGER_set(X509_get_serialNumber(x), 1) &&
           X509_gmtime_adj(X509_getm_notBefore(x), -3600) && X509_gmtime_adj(X509_getm_notAfter(x), LIFE_S) &&
           X509_set_pubkey(x, key) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"rbmock", -1, -1, 0) &&
           X509_set_issuer_name(x, name) && add_extension(x, NID_basic_constraints, "critical,CA:TRUE") &&
           add_extension(x, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost") && X509_sign(x, key, EVP_sha256());
}

static const char *text_of(BIO *bio, struct rb_arena *arena)
{
    char *text;
    const long n = BIO_get_mem_data(bio, &text);
    return rb_arena_strndup(arena, text, (size_t)n);
}

bool rb_mock_certificate_make(struct rb_arena *arena, struct rb_mock_certificate *out, struct rb_err *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    BIO *key_text = BIO_new(BIO_s_mem()), *text = BIO_new(BIO_s_mem());
    const bool ok = key && x && key_text && text && fill(x, key) && PEM_write_bio_X509(text, x) &&
                    PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL);
    if (ok)
        *out = (struct rb_mock_certificate){text_of(key_text, arena), text_of(text, arena)};
    BIO_free(text);
    BIO_free(key_text);
    X509_free(x);
    EVP_PKEY_free(key);
    return ok || rb_err_set(err, RB_E_MOCK_SYSTEM, "OpenSSL makes no certificate for the Kubernetes front");
}

const char *rb_mock_certificate_base64(const char *text, struct rb_arena *arena)
{
    const size_t n = strlen(text);
    char *out = rb_arena_alloc(arena, (n + 2) / 3 * 4 + 1);
    EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)n);
    return out;
}
