#include "providers/mock/k8s/websocket.h"

#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

bool rb_websocket_accept(const char *key, char out[static RB_WEBSOCKET_ACCEPT])
{
    unsigned char nonce[32], digest[EVP_MAX_MD_SIZE];
    char text[128];
    unsigned n;
    if (strlen(key) != 24 || EVP_DecodeBlock(nonce, (const unsigned char *)key, 24) != 18)
        return false;
    snprintf(text, sizeof text, "%s%s", key, guid);
    if (!EVP_Digest(text, strlen(text), digest, &n, EVP_sha1(), NULL))
        return false;
    EVP_EncodeBlock((unsigned char *)out, digest, (int)n);
    return true;
}

int rb_websocket_read(struct rb_buf *in, struct rb_websocket_frame *out)
{
    const unsigned char *b = (const unsigned char *)in->data;
    if (in->len < 2)
        return 0;
    const bool is_final = b[0] & 0x80, is_masked = b[1] & 0x80;
    const int kind = b[0] & 0x0f;
    uint64_t n = b[1] & 0x7f;
    size_t at = 2;
    const size_t n_length = n == 126 ? 2 : n == 127 ? 8 : 0;
    const bool is_known = kind == RB_WEBSOCKET_TEXT || kind == RB_WEBSOCKET_BINARY ||
                          (kind >= RB_WEBSOCKET_CLOSE && kind <= RB_WEBSOCKET_PONG);
    if (!is_final || (b[0] & 0x70) || !is_masked || !is_known)
        return -1;
    if (in->len < at + n_length + 4)
        return 0;
    if (n_length > 0)
        n = 0;
    for (size_t i = 0; i < n_length; i++)
        n = n << 8 | b[at++];
    if (n > RB_WEBSOCKET_MAX_FRAME)
        return -1;
    if (in->len < at + 4 + n)
        return 0;
    const unsigned char *mask = b + at;
    char *bytes = in->data + at + 4;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(bytes[i] ^ mask[i % 4]);
    *out = (struct rb_websocket_frame){(enum rb_websocket_kind)kind, bytes, n, at + 4 + n};
    return 1;
}

void rb_websocket_write(struct rb_buf *out, enum rb_websocket_kind kind, const void *first, size_t n_first,
                        const void *bytes, size_t n)
{
    const uint64_t all = n_first + n;
    rb_buf_putc(out, (char)(0x80 | kind));
    if (all < 126) {
        rb_buf_putc(out, (char)all);
    } else if (all < 65536) {
        rb_buf_putc(out, 126);
        rb_buf_putc(out, (char)(all >> 8));
        rb_buf_putc(out, (char)all);
    } else {
        rb_buf_putc(out, 127);
        for (int shift = 56; shift >= 0; shift -= 8)
            rb_buf_putc(out, (char)(all >> shift));
    }
    rb_buf_append(out, first, n_first);
    rb_buf_append(out, bytes, n);
}
