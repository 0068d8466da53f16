// The client's side of RFC 6455, with what the server sends cut at every byte.
#include "base/arena.h"
#include "providers/k8s/websocket.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

// 1.3 and 5.7 of the RFC.
static const uint8_t sample_key[RB_WS_KEY_BYTES] = "the sample nonce";
#define ACCEPTED \
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n"

static struct rb_ws_opening opening(void)
{
    struct rb_ws_opening o = {.target = "/exec?a=b", .host = "h:1", .protocols = "v5, v4", .authorization = "Bearer t"};
    memcpy(o.key, sample_key, sizeof o.key);
    return o;
}

static void asks_to_open(void **state)
{
    (void)state;
    const struct rb_ws_opening o = opening();
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    rb_ws_write_opening(&o, &out);
    assert_string_equal(out.data, "GET /exec?a=b HTTP/1.1\r\nHost: h:1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                  "Sec-WebSocket-Protocol: v5, v4\r\nAuthorization: Bearer t\r\n\r\n");
}

static void the_answer_belongs_to_the_request(void **state)
{
    (void)state;
    static const char good[] = ACCEPTED "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n\x81";
    static const char other[] = ACCEPTED "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOp=\r\n\r\n";
    static const char denied[] = "HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno\n";
    const struct rb_ws_opening o = opening();
    struct rb_err err = {0};
    char protocol[32];
    size_t head;
    long status;
    for (size_t n = 0; n < sizeof good - 2; n++)
        assert_int_equal(rb_ws_read_answer(&o, good, n, &head, protocol, &status, &err), RB_WS_MORE);
    assert_int_equal(rb_ws_read_answer(&o, good, sizeof good - 1, &head, protocol, &status, &err), RB_WS_OPEN);
    assert_int_equal(head, sizeof good - 2); // a frame may have come with it
    assert_string_equal(protocol, "v4.channel.k8s.io");
    assert_int_equal(rb_ws_read_answer(&o, other, sizeof other - 1, &head, protocol, &status, &err), RB_WS_REFUSED);
    assert_says(&err, "RB3020 another request");
    assert_int_equal(rb_ws_read_answer(&o, denied, sizeof denied - 1, &head, protocol, &status, &err), RB_WS_REFUSED);
    assert_int_equal(status, 403);
    assert_int_equal(rb_ws_read_answer(&o, "SSH-2.0-x\r\n\r\n", 13, &head, protocol, &status, &err), RB_WS_REFUSED);
    assert_int_equal(status, 0);
    // The status stands in the first line; what comes behind the head, or behind the bytes, is none.
    static const char *const without[] = {"HTTP/1.1 \r\n\r\n403", "HTTP/1.1 40\r\n\r\n3", "HTTP/1.1 4033\r\n\r\n"};
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        const size_t n = (size_t)(strstr(without[i], "\r\n\r\n") - without[i]) + 4;
        assert_int_equal(rb_ws_read_answer(&o, without[i], n, &head, protocol, &status, &err), RB_WS_REFUSED);
        assert_int_equal(status, 0);
    }
}

static void masks_what_it_sends(void **state)
{
    (void)state;
    static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    rb_ws_write_frame(RB_WS_TEXT, "Hello", 5, mask, &out);
    assert_int_equal(out.len, 11);
    assert_memory_equal(out.data, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11); // 5.7
    static const struct {
        size_t n;
        const char *head;
        size_t n_head;
    } lengths[] = {
        {125, "\x82\xfd", 2},
        {126, "\x82\xfe\x00\x7e", 4},
        {65535, "\x82\xfe\xff\xff", 4},
        {65536, "\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00", 10},
    };
    char *bytes = calloc(1, 65536);
    for (size_t i = 0; i < N_OF(lengths); i++) {
        rb_buf_clear(&out);
        rb_ws_write_frame(RB_WS_BINARY, bytes, lengths[i].n, mask, &out);
        assert_memory_equal(out.data, lengths[i].head, lengths[i].n_head);
        assert_int_equal(out.len, lengths[i].n_head + 4 + lengths[i].n);
    }
    free(bytes);
}

static void note(void *arg, enum rb_ws_opcode opcode, const uint8_t *bytes, size_t n)
{
    rb_buf_printf(arg, "%d:%zu:%.*s ", opcode, n, (int)(n < 9 ? n : 9), (const char *)bytes);
}

static void server_frame(struct rb_buf *out, int first, const char *bytes, size_t n)
{
    rb_buf_putc(out, (char)first);
    if (n < 126) {
        rb_buf_putc(out, (char)n);
    } else {
        rb_buf_putc(out, 126);
        rb_buf_putc(out, (char)(n >> 8));
        rb_buf_putc(out, (char)n);
    }
    rb_buf_append(out, bytes, n);
}

static void reads_frames_cut_anywhere(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf sent = RB_BUF_INIT;
    char big[300];
    memset(big, 'x', sizeof big);
    server_frame(&sent, 0x82, "one", 3);
    server_frame(&sent, 0x01, "Hel", 3); // a message in pieces, and a ping between them
    server_frame(&sent, 0x89, "p", 1);
    server_frame(&sent, 0x80, "lo", 2);
    server_frame(&sent, 0x82, "", 0);
    server_frame(&sent, 0x82, big, sizeof big);
    server_frame(&sent, 0x88, "\x03\xe8", 2);
    for (size_t cut = 0; cut <= sent.len; cut++) {
        struct rb_ws_reader r = {0};
        RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
        assert_true(rb_ws_read(&r, sent.data, cut, note, &said, NULL));
        assert_true(rb_ws_read(&r, sent.data + cut, sent.len - cut, note, &said, NULL));
        assert_string_equal(said.data, "2:3:one 9:1:p 1:5:Hello 2:0: 2:300:xxxxxxxxx 8:2:\x03\xe8 ");
        rb_ws_reader_finish(&r);
    }
}

static void refuses_what_no_server_sends(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
    } wrong[] = {
        {"\xc2\x01x", 3},                                 // a reserved bit
        {"\x82\x81\x01\x02\x03\x04x", 7},                 // masked
        {"\x09\x01x", 3},                                 // a ping in pieces
        {"\x80\x01x", 3},                                 // the end of nothing
        {"\x82\x7f\x00\x00\x00\x00\x7f\x00\x00\x00", 10}, // 2 GiB
        {"\x01\x01x\x81\x01x", 6},                        // a message within a message
    };
    for (size_t i = 0; i < N_OF(wrong); i++) {
        struct rb_ws_reader r = {0};
        RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
        struct rb_err err = {0};
        assert_false(rb_ws_read(&r, wrong[i].bytes, wrong[i].n, note, &said, &err));
        assert_says(&err, "RB3020 websocket");
        rb_ws_reader_finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_to_open),
        cmocka_unit_test(the_answer_belongs_to_the_request),
        cmocka_unit_test(masks_what_it_sends),
        cmocka_unit_test(reads_frames_cut_anywhere),
        cmocka_unit_test(refuses_what_no_server_sends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
