// The checksum of TensorBoard's records: CRC-32C, and its masked form. Source: RFC 3720 appendix B.4; tensorflow's
// core/lib/hash/crc32c.h for the mask.
#ifndef RB_BASE_CRC32C_H
#define RB_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t rb_crc32c(const void *bytes, size_t n);
// A plain checksum of bytes that hold checksums is weak: this one is rotated and shifted.
uint32_t rb_crc32c_masked(const void *bytes, size_t n);

#endif
