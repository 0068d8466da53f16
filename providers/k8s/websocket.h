// The client's side of RFC 6455, as much as exec in a pod needs: the opening request and its answer, and frames. Pure:
// bytes in, bytes out; who owns the connection moves them.
#ifndef RB_PROVIDERS_WEBSOCKET_H
#define RB_PROVIDERS_WEBSOCKET_H

#include "base/errors/err.h"
#include "base/text/buf.h"

#include <stddef.h>
#include <stdint.h>

enum rb_ws_opcode { RB_WS_TEXT = 1, RB_WS_BINARY = 2, RB_WS_CLOSE = 8, RB_WS_PING = 9, RB_WS_PONG = 10 };

enum { RB_WS_KEY_BYTES = 16, RB_WS_MAX_MESSAGE = 16 << 20 };

// --- the opening

struct rb_ws_opening {
    const char *target, *host;      // "/api/v1/...", "10.0.0.1:6443"
    const char *protocols;          // "v5.channel.k8s.io, v4.channel.k8s.io"
    const char *authorization;      // the header's value; NULL: none
    uint8_t key[RB_WS_KEY_BYTES];   // random
};
void rb_ws_write_opening(const struct rb_ws_opening *o, struct rb_buf *out);

enum rb_ws_answer { RB_WS_MORE, RB_WS_OPEN, RB_WS_REFUSED };
// Reads the answer. MORE: it is not whole yet. OPEN: *out_len bytes were the head, frames follow; protocol is the
// subprotocol that was agreed on. REFUSED: *out_status is its status (0: it is no answer of this protocol), and err says
// why, with the beginning of the body that has come by then.
enum rb_ws_answer rb_ws_read_answer(const struct rb_ws_opening *o, const char *bytes, size_t n, size_t *out_len,
                                    char protocol[static 32], long *out_status, struct rb_err *err);

// --- frames

// Appends one masked frame; mask: four random bytes.
void rb_ws_write_frame(enum rb_ws_opcode opcode, const void *bytes, size_t n, const uint8_t mask[4], struct rb_buf *out);

// What the peer sends, put together from bytes that come in any pieces.
struct rb_ws_reader {
    struct rb_buf pending; // bytes that are no whole frame yet
    struct rb_buf message; // of the frames of a message in several of them
    int opcode;            // of that message; 0: none has begun
};
void rb_ws_reader_finish(struct rb_ws_reader *r);

// A whole message. The bytes are borrowed for the call.
typedef void rb_ws_message_fn(void *arg, enum rb_ws_opcode opcode, const uint8_t *bytes, size_t n);
// Errors: IO: masked or reserved bits, a control frame in pieces, a message above RB_WS_MAX_MESSAGE.
bool rb_ws_read(struct rb_ws_reader *r, const void *bytes, size_t n, rb_ws_message_fn *fn, void *arg,
                struct rb_err *err);

#endif
