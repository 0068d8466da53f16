// The type of a digest function. Callers pass one in, because only providers/ may use cryptography.
#ifndef RB_BASE_DIGEST_H
#define RB_BASE_DIGEST_H

#include <stddef.h>

// Digest of bytes as 64 hex digits.
typedef void rb_digest_fn(const void *bytes, size_t n, char out_hex[65]);

#endif
