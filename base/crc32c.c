#include "base/crc32c.h"

uint32_t rb_crc32c(const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

uint32_t rb_crc32c_masked(const void *bytes, size_t n)
{
    const uint32_t crc = rb_crc32c(bytes, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
