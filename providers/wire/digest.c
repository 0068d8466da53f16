// Digests, message authentication, randomness and Base64: thin, strict covers over OpenSSL and the kernel.
#include "providers/wire/digest.h"

#include <assert.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

// OpenSSL fails here only when it is out of memory or broken; nothing can continue without a digest.
static void must(bool ok)
{
    if (!ok)
        abort();
}

void rb_digest_sha256(const void *bytes, size_t n, char out_hex[65])
{
    uint8_t digest[32];
    unsigned len = 0;
    must(EVP_Digest(n ? bytes : "", n, digest, &len, EVP_sha256(), NULL) == 1 && len == sizeof digest);
    rb_digest_hex(digest, sizeof digest, out_hex);
}

void rb_digest_sha1(const void *bytes, size_t n, uint8_t out[20])
{
    unsigned len = 0;
    must(EVP_Digest(n ? bytes : "", n, out, &len, EVP_sha1(), NULL) == 1 && len == 20);
}

void rb_digest_hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t n, uint8_t out[32])
{
    assert(key_len <= INT_MAX);
    unsigned len = 0;
    // A NULL key would mean "the key of the last call" to OpenSSL.
    must(HMAC(EVP_sha256(), key_len ? key : "", (int)key_len, n ? bytes : (const void *)"", n, out, &len) != NULL);
    assert(len == 32);
}

void rb_digest_hex(const uint8_t *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

// Source: RFC 9562, 5.5.
void rb_digest_uuid5(const uint8_t name_space[16], const char *name, char out[37])
{
    uint8_t digest[20];
    unsigned len = 0;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    must(ctx && EVP_DigestInit_ex(ctx, EVP_sha1(), NULL) == 1 && EVP_DigestUpdate(ctx, name_space, 16) == 1 &&
         EVP_DigestUpdate(ctx, name, strlen(name)) == 1 && EVP_DigestFinal_ex(ctx, digest, &len) == 1);
    EVP_MD_CTX_free(ctx);
    digest[6] = (uint8_t)((digest[6] & 0x0f) | 0x50); // version
    digest[8] = (uint8_t)((digest[8] & 0x3f) | 0x80); // variant
    char hex[33];
    rb_digest_hex(digest, 16, hex);
    snprintf(out, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

void rb_random_bytes(void *out, size_t n)
{
    const size_t max_per_call = 256; // of getentropy
    for (uint8_t *p = out; n > 0;) {
        const size_t take = n < max_per_call ? n : max_per_call;
        must(getentropy(p, take) == 0);
        p += take;
        n -= take;
    }
}

void rb_base64_encode(const void *bytes, size_t n, char *out)
{
    assert(n <= INT_MAX / 4 * 3 - 3);
    out[0] = '\0';
    if (n > 0)
        EVP_EncodeBlock((unsigned char *)out, bytes, (int)n);
}

// Length of the padding, or -1 if text is not canonical Base64. OpenSSL's decoder would skip spaces and accept '=' anywhere.
static int base64_padding(const char *text, size_t len)
{
    if (len % 4 != 0)
        return -1;
    int padding = 0;
    while (padding < 2 && len > 0 && text[len - 1] == '=') {
        padding++;
        len--;
    }
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\0' || !strchr(alphabet, text[i]))
            return -1;
    return padding;
}

int rb_base64_decode(const char *text, size_t len, void *out)
{
    const int padding = len <= INT_MAX ? base64_padding(text, len) : -1;
    if (padding < 0)
        return -1;
    if (len == 0)
        return 0;
    const int n = EVP_DecodeBlock(out, (const unsigned char *)text, (int)len);
    return n < 0 ? -1 : n - padding;
}

char *rb_base64url_decode(const char *text, size_t n, struct rb_arena *arena, size_t *out_n)
{
    char *standard = rb_arena_alloc(arena, n + 4);
    while (n > 0 && text[n - 1] == '=')
        n--;
    for (size_t k = 0; k < n; k++) {
        if (strchr("+/=", text[k]))
            return NULL;
        standard[k] = text[k] == '-' ? '+' : text[k] == '_' ? '/' : text[k];
    }
    while (n % 4 != 0)
        standard[n++] = '=';
    char *bytes = rb_arena_alloc(arena, n + 1);
    const int got = rb_base64_decode(standard, n, bytes);
    *out_n = got >= 0 ? (size_t)got : 0;
    return got >= 0 ? bytes : NULL;
}
