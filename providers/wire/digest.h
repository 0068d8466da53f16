// Computes digests, message authentication codes, UUIDs and base64, with OpenSSL.
#ifndef RB_PROVIDERS_DIGEST_H
#define RB_PROVIDERS_DIGEST_H

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

void rb_digest_sha256(const void *bytes, size_t n, char out_hex[65]); // rb_digest_fn
void rb_digest_sha1(const void *bytes, size_t n, uint8_t out[20]); // for WebSocket's handshake; protects nothing
void rb_digest_hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t n, uint8_t out[32]);
void rb_digest_hex(const uint8_t *bytes, size_t n, char *out); // 2n+1 bytes
// UUID of version 5: always the same for the same name. Text of 36 characters.
void rb_digest_uuid5(const uint8_t name_space[16], const char *name, char out[37]);
void rb_random_bytes(void *out, size_t n); // from the system; aborts if there is none
// Base64 with padding; out holds 4*((n+2)/3)+1 bytes.
void rb_base64_encode(const void *bytes, size_t n, char *out);
// Returns decoded length or -1; out holds at least 3*(len/4) bytes.
int rb_base64_decode(const char *text, size_t len, void *out);
// The alphabet of URLs (RFC 4648, section 5), with padding or without. NULL: it is not that. NUL-terminated; *out_n without it.
char *rb_base64url_decode(const char *text, size_t n, struct rb_arena *arena, size_t *out_n);

#endif
