// Sources: RFC 7519, RFC 5280.
#include "providers/wire/expiry.h"

#include "base/arena.h"
#include "base/text/units.h"
#include "providers/wire/digest.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>
#include <time.h>

static const int64_t last_s = INT64_C(253402300799); // of the year 9999, which stands for "never"

// The token's middle part.
bool rb_jwt_claims(const char *token, struct rb_doc *out)
{
    const char *begin = strchr(token, '.'), *end = begin ? strchr(begin + 1, '.') : NULL;
    if (!end)
        return false;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    size_t n;
    const char *claims = rb_base64url_decode(begin + 1, (size_t)(end - begin - 1), &arena, &n);
    return claims && n > 0 && rb_doc_parse_json(out, "token", claims, n, NULL);
}

static int64_t from_s(int64_t s)
{
    return s > 0 && s < last_s ? s * RB_US_PER_S : -1;
}

int64_t rb_jwt_ends_us(const char *token)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    const struct rb_node *exp = rb_jwt_claims(token, &doc) ? rb_node_member(doc.root, "exp") : NULL;
    return exp && exp->kind == RB_NODE_INT ? from_s(exp->integer) : -1;
}

int64_t rb_certificate_ends_us(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    struct tm at = {0};
    const bool known = certificate && ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &at) == 1;
    X509_free(certificate);
    BIO_free(bio);
    return known ? from_s((int64_t)timegm(&at)) : -1;
}
