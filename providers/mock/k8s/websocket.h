// The server's side of WebSocket (RFC 6455): the handshake's answer, and frames as bytes. Extensions are never
// negotiated; messages arrive as fragments, which the channels of Kubernetes do not use.
#ifndef RB_PROVIDERS_MOCK_K8S_WEBSOCKET_H
#define RB_PROVIDERS_MOCK_K8S_WEBSOCKET_H

#include "base/text/buf.h"

#include <stdbool.h>

#define RB_WEBSOCKET_ACCEPT    29
#define RB_WEBSOCKET_MAX_FRAME (1 << 25)

// Sec-WebSocket-Accept for a key. False: the key is not 16 bytes in base64.
bool rb_websocket_accept(const char *key, char out[static RB_WEBSOCKET_ACCEPT]);

enum rb_websocket_kind {
    RB_WEBSOCKET_TEXT = 1,
    RB_WEBSOCKET_BINARY = 2,
    RB_WEBSOCKET_CLOSE = 8,
    RB_WEBSOCKET_PING = 9,
    RB_WEBSOCKET_PONG = 10,
};

struct rb_websocket_frame {
    enum rb_websocket_kind kind;
    char *bytes;     // [n], unmasked, in the buffer
    size_t n, whole; // whole: to consume from the buffer when the frame has been dealt with
};

// The first frame in the buffer, unmasked in place. 1: there is one; 0: not whole yet; -1: against the protocol
// (unmasked, fragmented, reserved bits, too long).
int rb_websocket_read(struct rb_buf *in, struct rb_websocket_frame *out);
// Appends a frame that begins with `first` (n_first bytes) and goes on with bytes.
void rb_websocket_write(struct rb_buf *out, enum rb_websocket_kind kind, const void *first, size_t n_first,
                        const void *bytes, size_t n);

#endif
