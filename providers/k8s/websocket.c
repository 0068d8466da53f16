#include "providers/k8s/websocket.h"

#include "base/errors/log.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    FIN = 0x80,
    RESERVED = 0x70,
    OPCODE = 0x0f,
    MASKED = 0x80,
    LENGTH = 0x7f,
    LENGTH_16 = 126,
    LENGTH_64 = 127,
    MAX_HEAD = 16 << 10
};

// --- the opening

static void key_text(const uint8_t key[static RB_WS_KEY_BYTES], char out[static 25])
{
    rb_base64_encode(key, RB_WS_KEY_BYTES, out);
}

void rb_ws_write_opening(const struct rb_ws_opening *o, struct rb_buf *out)
{
    char key[25];
    key_text(o->key, key);
    rb_buf_printf(out,
                  "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: %s\r\n",
                  o->target, o->host, key, o->protocols);
    if (o->authorization)
        rb_buf_printf(out, "Authorization: %s\r\n", o->authorization);
    rb_buf_puts(out, "\r\n");
}

// The header's value in the head, blanks around it left out; "": absent, or longer than the array.
static void header(const char *head, size_t n, const char *name, char *out, size_t size)
{
    const size_t name_len = strlen(name);
    out[0] = '\0';
    for (const char *line = head, *end = head + n; line < end;) {
        const char *eol = memchr(line, '\n', (size_t)(end - line));
        const char *stop = eol ? eol : end;
        if ((size_t)(stop - line) > name_len && strncasecmp(line, name, name_len) == 0 && line[name_len] == ':') {
            const char *value = line + name_len + 1;
            while (value < stop && (*value == ' ' || *value == '\t'))
                value++;
            while (stop > value && strchr(" \t\r", stop[-1]))
                stop--;
            if ((size_t)(stop - value) < size) {
                memcpy(out, value, (size_t)(stop - value));
                out[stop - value] = '\0';
            }
            return;
        }
        line = eol ? eol + 1 : end;
    }
}

static void expected_accept(const uint8_t key[static RB_WS_KEY_BYTES], char out[static 29])
{
    char text[25 + 36];
    uint8_t digest[20];
    key_text(key, text);
    strcat(text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"); // RFC 6455, 1.3
    rb_digest_sha1(text, strlen(text), digest);
    rb_base64_encode(digest, sizeof digest, out);
}

static enum rb_ws_answer refuse(long status, const char *why, size_t n, long *out_status, struct rb_err *err)
{
    char text[300];
    rb_log_sanitise(why, n < sizeof text ? n : sizeof text - 1, text, sizeof text);
    *out_status = status;
    rb_err_set(err, RB_E_ANSWER, "status %ld: %s", status, text);
    return RB_WS_REFUSED;
}

// Three digits behind the protocol; 0: there are none. Nothing behind the head is read, which may end without a NUL.
static long status_of(const char *head, size_t n)
{
    static const char protocol[] = "HTTP/1.1 ";
    enum { AT = sizeof protocol - 1, DIGITS = 3 };
    long status = 0;
    if (n <= AT + DIGITS || memcmp(head, protocol, AT) != 0)
        return 0;
    for (const char *c = head + AT; c < head + AT + DIGITS; c++) {
        if (*c < '0' || *c > '9')
            return 0;
        status = 10 * status + (*c - '0');
    }
    return memchr(" \r\n", head[AT + DIGITS], 3) && status >= 100 && status <= 599 ? status : 0;
}

enum rb_ws_answer rb_ws_read_answer(const struct rb_ws_opening *o, const char *bytes, size_t n, size_t *out_len,
                                    char protocol[static 32], long *out_status, struct rb_err *err)
{
    char accept[64], expected[29];
    const char *end = memmem(bytes, n, "\r\n\r\n", 4);
    if (!end)
        return n < MAX_HEAD ? RB_WS_MORE : refuse(0, "no end of the head", 18, out_status, err);
    const size_t head = (size_t)(end - bytes) + 4;
    const long status = status_of(bytes, head);
    if (status == 0)
        return refuse(0, "not an answer of HTTP/1.1", 25, out_status, err);
    if (status != 101)
        return refuse(status, bytes + head, n - head, out_status, err);
    header(bytes, head, "Sec-WebSocket-Accept", accept, sizeof accept);
    header(bytes, head, "Sec-WebSocket-Protocol", protocol, 32);
    expected_accept(o->key, expected);
    if (strcmp(accept, expected) != 0)
        return refuse(0, "the answer belongs to another request", 37, out_status, err);
    *out_len = head;
    return RB_WS_OPEN;
}

// --- frames

void rb_ws_write_frame(enum rb_ws_opcode opcode, const void *bytes, size_t n, const uint8_t mask[4], struct rb_buf *out)
{
    uint8_t head[14] = {FIN | (uint8_t)opcode};
    size_t at = 2;
    const int n_length = n < LENGTH_16 ? 0 : n <= UINT16_MAX ? 2 : 8;
    head[1] = MASKED | (uint8_t)(n_length == 0 ? n : n_length == 2 ? LENGTH_16 : LENGTH_64);
    for (int i = n_length - 1; i >= 0; i--)
        head[at++] = (uint8_t)((uint64_t)n >> 8 * i);
    memcpy(head + at, mask, 4);
    rb_buf_append(out, head, at + 4);
    const size_t begin = out->len;
    rb_buf_append(out, bytes, n);
    for (size_t i = 0; i < n; i++)
        out->data[begin + i] = (char)((uint8_t)out->data[begin + i] ^ mask[i % 4]);
}

void rb_ws_reader_finish(struct rb_ws_reader *r)
{
    rb_buf_finish(&r->pending);
    rb_buf_finish(&r->message);
}

struct frame {
    uint8_t first; // FIN and opcode
    const uint8_t *payload;
    uint64_t n;
    size_t whole; // bytes with its head
};

// False: it is not whole yet, or (err set) wrong.
static bool next_frame(const struct rb_buf *pending, size_t at, struct frame *out, struct rb_err *err)
{
    const uint8_t *p = (const uint8_t *)pending->data + at;
    const size_t n = pending->len - at;
    if (n < 2)
        return false;
    if (p[0] & RESERVED || p[1] & MASKED)
        return rb_err_set(err, RB_E_ANSWER, "websocket: a frame with reserved bits, or masked by the server");
    const int n_length = (p[1] & LENGTH) == LENGTH_16 ? 2 : (p[1] & LENGTH) == LENGTH_64 ? 8 : 0;
    if (n < 2 + (size_t)n_length)
        return false;
    uint64_t len = n_length ? 0 : p[1] & LENGTH;
    for (int i = 0; i < n_length; i++)
        len = len << 8 | p[2 + i];
    if (len > RB_WS_MAX_MESSAGE)
        return rb_err_set(err, RB_E_ANSWER, "websocket: a frame of more than %d bytes", RB_WS_MAX_MESSAGE);
    *out = (struct frame){p[0], p + 2 + n_length, len, 2 + (size_t)n_length + (size_t)len};
    return n >= out->whole;
}

static bool take_frame(struct rb_ws_reader *r, const struct frame *f, rb_ws_message_fn *fn, void *arg,
                       struct rb_err *err)
{
    const int opcode = f->first & OPCODE;
    const bool is_last = f->first & FIN;
    if (opcode >= RB_WS_CLOSE) { // control frames may come between those of a message
        if (!is_last || f->n > 125)
            return rb_err_set(err, RB_E_ANSWER, "websocket: a control frame in pieces");
        fn(arg, (enum rb_ws_opcode)opcode, f->payload, (size_t)f->n);
        return true;
    }
    if ((opcode == 0) != (r->opcode != 0) || r->message.len + f->n > RB_WS_MAX_MESSAGE)
        return rb_err_set(err, RB_E_ANSWER, "websocket: frames out of order, or a message of more than %d bytes",
                          RB_WS_MAX_MESSAGE);
    if (is_last && opcode != 0) {
        fn(arg, (enum rb_ws_opcode)opcode, f->payload, (size_t)f->n);
        return true;
    }
    r->opcode = opcode ? opcode : r->opcode;
    rb_buf_append(&r->message, f->payload, (size_t)f->n);
    if (is_last) {
        fn(arg, (enum rb_ws_opcode)r->opcode, (const uint8_t *)rb_buf_str(&r->message), r->message.len);
        rb_buf_clear(&r->message);
        r->opcode = 0;
    }
    return true;
}

bool rb_ws_read(struct rb_ws_reader *r, const void *bytes, size_t n, rb_ws_message_fn *fn, void *arg,
                struct rb_err *err)
{
    struct rb_err why = {0};
    struct frame f = {0};
    size_t at = 0;
    rb_buf_append(&r->pending, bytes, n);
    while (next_frame(&r->pending, at, &f, &why)) {
        at += f.whole;
        if (!take_frame(r, &f, fn, arg, &why))
            break;
    }
    rb_buf_consume(&r->pending, at);
    if (why.code && err)
        *err = why;
    return !why.code;
}
