// Protocol buffers are written by hand: a field is its key (number and wire type), then its bytes.
#include "executor/sinks/tfevents.h"

#include "base/arena.h"
#include "base/crc32c.h"
#include "base/text/utf8.h"

#include <string.h>

// --- records

static void put_le(uint64_t v, int n, struct rb_buf *out)
{
    for (int i = 0; i < n; i++)
        rb_buf_putc(out, (char)(v >> 8 * i & 0xff));
}

static void put_record(const struct rb_buf *data, struct rb_buf *out)
{
    const size_t at = out->len;
    put_le(data->len, 8, out);
    put_le(rb_crc32c_masked(out->data + at, 8), 4, out);
    rb_buf_append(out, data->data, data->len);
    put_le(rb_crc32c_masked(data->data, data->len), 4, out);
}

// --- fields

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(uint64_t v, struct rb_buf *out)
{
    for (; v >= 0x80; v >>= 7)
        rb_buf_putc(out, (char)(v | 0x80));
    rb_buf_putc(out, (char)v);
}

static void put_key(int field, enum wire wire, struct rb_buf *out)
{
    put_varint((uint64_t)field << 3 | wire, out);
}

static void put_bytes(int field, const void *bytes, size_t n, struct rb_buf *out)
{
    put_key(field, BYTES, out);
    put_varint(n, out);
    rb_buf_append(out, bytes, n);
}

static void put_message(int field, const struct rb_buf *message, struct rb_buf *out)
{
    put_bytes(field, rb_buf_str(message), message->len, out);
}

// A string field must be UTF-8; control characters would garble who shows it.
static void put_text(int field, const char *text, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf clean = RB_BUF_INIT;
    for (size_t n = strlen(text); n > 0;) {
        const size_t len = rb_utf8_char_len(text, n);
        if (len == 0 || (unsigned char)*text < ' ' || *text == 0x7f)
            rb_buf_putc(&clean, '?');
        else
            rb_buf_append(&clean, text, len);
        text += len ? len : 1;
        n -= len ? len : 1;
    }
    put_message(field, &clean, out);
}

static void put_double(int field, double v, struct rb_buf *out)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_key(field, FIXED64, out);
    put_le(bits, 8, out);
}

static void put_float(int field, float v, struct rb_buf *out)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_key(field, FIXED32, out);
    put_le(bits, 4, out);
}

// --- events

// Event{1 wall_time, 2 step, 5 summary{1 value}}
static void put_event(double wall_s, int64_t step, const struct rb_buf *value, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf event = RB_BUF_INIT, summary = RB_BUF_INIT;
    put_double(1, wall_s, &event);
    if (step != 0) {
        put_key(2, VARINT, &event);
        put_varint((uint64_t)step, &event);
    }
    put_message(1, value, &summary);
    put_message(5, &summary, &event);
    put_record(&event, out);
}

void rb_tf_version(double wall_s, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf event = RB_BUF_INIT;
    put_double(1, wall_s, &event);
    put_text(3, "brain.Event:2", &event);
    put_record(&event, out);
}

void rb_tf_scalar(double wall_s, int64_t step, const char *tag, double value, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf v = RB_BUF_INIT;
    put_text(1, tag, &v);
    put_float(2, (float)value, &v);
    put_event(wall_s, step, &v, out);
}

// Value{1 tag, 8 tensor{1 dtype: DT_FLOAT, 2 shape{2 dim{1 size: 0}}}, 9 metadata{1 plugin_data{1 name, 2 content}}}
static void put_hparams(double wall_s, const char *tag, const struct rb_buf *content, struct rb_buf *out)
{
    static const char empty_tensor[] = {0x08, 0x01, 0x12, 0x02, 0x12, 0x00};
    RB_AUTO(rb_buf_finish) struct rb_buf v = RB_BUF_INIT, metadata = RB_BUF_INIT, plugin = RB_BUF_INIT;
    put_text(1, "hparams", &plugin);
    put_message(2, content, &plugin);
    put_message(1, &plugin, &metadata);
    put_text(1, tag, &v);
    put_bytes(8, empty_tensor, sizeof empty_tensor, &v);
    put_message(9, &metadata, &v);
    put_event(wall_s, 0, &v, out);
}

// google.protobuf.Value{2 number_value, 3 string_value, 4 bool_value}
static void put_value(int field, const struct rb_value *v, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf value = RB_BUF_INIT;
    switch (v->kind) {
    case RB_VALUE_INT:
        put_double(2, (double)v->integer, &value);
        break;
    case RB_VALUE_FLOAT:
        put_double(2, v->number, &value);
        break;
    case RB_VALUE_STRING:
        put_text(3, v->string, &value);
        break;
    case RB_VALUE_BOOL:
        put_key(4, VARINT, &value);
        put_varint(v->boolean, &value);
        break;
    case RB_VALUE_ABSENT: // the caller leaves it out
        break;
    }
    put_message(field, &value, out);
}

// HParamsPluginData{1 version: 0, 3 session_start_info{1 map hparams, 4 group_name, 5 start_time_secs}}
void rb_tf_session_start(double wall_s, const struct rb_space *space, const struct rb_value *values, const char *group,
                         struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf info = RB_BUF_INIT, content = RB_BUF_INIT;
    for (int i = 0; i < space->n_params; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf entry = RB_BUF_INIT;
        if (values[i].kind == RB_VALUE_ABSENT)
            continue;
        put_text(1, space->params[i].name, &entry);
        put_value(2, &values[i], &entry);
        put_message(1, &entry, &info);
    }
    put_text(4, group, &info);
    put_double(5, wall_s, &info);
    put_message(3, &info, &content);
    put_hparams(wall_s, "_hparams_/session_start_info", &content, out);
}

// HParamsPluginData{1 version: 0, 4 session_end_info{1 status, 2 end_time_secs}}
void rb_tf_session_end(double wall_s, enum rb_tf_status status, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf info = RB_BUF_INIT, content = RB_BUF_INIT;
    put_key(1, VARINT, &info);
    put_varint(status, &info);
    put_double(2, wall_s, &info);
    put_message(4, &info, &content);
    put_hparams(wall_s, "_hparams_/session_end_info", &content, out);
}
