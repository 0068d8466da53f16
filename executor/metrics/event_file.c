#include "executor/metrics/event_file.h"

#include <string.h>

#define MOST_READ      (UINT64_C(1) << 20) // bytes; a record of scalars has some hundred, longer ones hold images
#define LONGEST_RECORD (UINT64_C(1) << 40)
#define HEAD           12 // length and its checksum
#define TAIL           4

// --- frames ---

static uint32_t masked_crc32c(const unsigned char *p, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82f63b78u & (0u - (crc & 1)));
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static uint64_t little_endian(const unsigned char *p, int n)
{
    uint64_t v = 0;
    while (n-- > 0)
        v = v << 8 | p[n];
    return v;
}

static bool is_checked(const unsigned char *p, size_t n)
{
    return masked_crc32c(p, n) == little_endian(p + n, 4);
}

// --- protocol buffers ---

struct field {
    int number, wire;        // wire: 0 varint, 1 eight bytes, 2 bytes, 5 four bytes
    uint64_t value;          // of 0, 1 and 5
    const unsigned char *at; // of 2
    size_t n;
};

static bool read_varint(const unsigned char **p, const unsigned char *end, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && *p < end; shift += 7) {
        const unsigned char byte = *(*p)++;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

// False: the message ends, or is not one.
static bool next_field(const unsigned char **p, const unsigned char *end, struct field *f)
{
    uint64_t key, n;
    if (!read_varint(p, end, &key))
        return false;
    *f = (struct field){.number = (int)(key >> 3 & 0x1fffffff), .wire = (int)(key & 7)};
    const int fixed = f->wire == 1 ? 8 : f->wire == 5 ? 4 : 0;
    if (f->wire == 0)
        return read_varint(p, end, &f->value);
    if (fixed > 0) {
        if (end - *p < fixed)
            return false;
        f->value = little_endian(*p, fixed);
        *p += fixed;
        return true;
    }
    if (f->wire != 2 || !read_varint(p, end, &n) || n > (uint64_t)(end - *p))
        return false;
    f->at = *p;
    f->n = (size_t)n;
    *p += n;
    return true;
}

static double float_of(uint64_t bits)
{
    const uint32_t word = (uint32_t)bits;
    float v;
    memcpy(&v, &word, sizeof v);
    return (double)v;
}

static double double_of(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

// TensorProto: dtype 1 (1 float, 2 double), tensor_content 4, float_val 5, double_val 6; one number.
static bool read_tensor(const struct field *tensor, double *out)
{
    const unsigned char *p = tensor->at, *end = p + tensor->n;
    struct field f;
    uint64_t type = 0;
    int n = 0;
    while (next_field(&p, end, &f)) {
        const size_t size = f.number == 5 || (f.number == 4 && type == 1) ? 4 : 8;
        if (f.number == 1 && f.wire == 0)
            type = f.value;
        if (f.number < 4 || f.number > 6)
            continue;
        if (f.wire == 2 && f.n != size)
            return false;
        const uint64_t bits = f.wire == 2 ? little_endian(f.at, (int)size) : f.value;
        *out = size == 4 ? float_of(bits) : double_of(bits);
        n++;
    }
    return n == 1 && (type == 1 || type == 2);
}

// Summary.Value: tag 1, simple_value 2, tensor 8.
static void read_value(const struct field *message, int64_t step, rb_scalar_fn *fn, void *ctx)
{
    const unsigned char *p = message->at, *end = p + message->n;
    struct field f, tag = {0};
    double value = 0;
    bool has_value = false;
    while (next_field(&p, end, &f)) {
        if (f.number == 1 && f.wire == 2)
            tag = f;
        else if (f.number == 2 && f.wire == 5)
            value = float_of(f.value), has_value = true;
        else if (f.number == 8 && f.wire == 2)
            has_value = read_tensor(&f, &value);
    }
    if (tag.at && has_value)
        fn(ctx, (const char *)tag.at, tag.n, step, value);
}

// Event: step 2, summary 5; Summary: value 1. The step comes before the summary, as fields are written in order.
static void read_event(const unsigned char *p, size_t n, rb_scalar_fn *fn, void *ctx)
{
    const unsigned char *end = p + n;
    struct field f, value;
    int64_t step = 0;
    while (next_field(&p, end, &f)) {
        if (f.number == 2 && f.wire == 0)
            step = (int64_t)f.value;
        if (f.number != 5 || f.wire != 2)
            continue;
        const unsigned char *q = f.at;
        while (next_field(&q, f.at + f.n, &value))
            if (value.number == 1 && value.wire == 2)
                read_value(&value, step, fn, ctx);
    }
}

// --- the file ---

void rb_event_file_finish(struct rb_event_file *f)
{
    rb_buf_finish(&f->buf);
}

// Reads one record from the buffer, or skips bytes that are known to be none. False: more bytes are needed.
static bool advance(struct rb_event_file *f, size_t *used, rb_scalar_fn *fn, void *ctx)
{
    const unsigned char *p = (const unsigned char *)rb_buf_str(&f->buf) + *used;
    const size_t left = f->buf.len - *used;
    if (f->skip > 0) {
        const size_t part = f->skip < left ? (size_t)f->skip : left;
        *used += part;
        f->skip -= part;
        return part > 0;
    }
    if (left < HEAD)
        return false;
    const uint64_t n = little_endian(p, 8);
    f->is_broken = !is_checked(p, 8) || n > LONGEST_RECORD;
    if (f->is_broken)
        return false;
    if (n > MOST_READ) {
        f->skip = HEAD + n + TAIL;
        return true;
    }
    if (left < HEAD + n + TAIL)
        return false;
    if (is_checked(p + HEAD, (size_t)n)) // a record with a wrong checksum is left out; the next one can be found
        read_event(p + HEAD, (size_t)n, fn, ctx);
    *used += HEAD + (size_t)n + TAIL;
    return true;
}

void rb_event_file_take(struct rb_event_file *f, const char *bytes, size_t n, rb_scalar_fn *fn, void *ctx)
{
    size_t used = 0;
    if (f->is_broken)
        return;
    rb_buf_append(&f->buf, bytes, n);
    while (advance(f, &used, fn, ctx)) {
    }
    rb_buf_consume(&f->buf, used);
}
