#include "providers/mock/k8s/k8s_protobuf.h"

#include "base/arena.h"
#include "base/document/json.h"

#include <stdint.h>
#include <string.h>

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
struct bytes {
    const char *at;
    size_t n;
};

static bool read_varint(struct bytes *in, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && in->n > 0; shift += 7) {
        const unsigned char byte = (unsigned char)*in->at++;
        in->n--;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool take(struct bytes *in, uint64_t n, struct bytes *out)
{
    if (n > in->n)
        return false;
    *out = (struct bytes){in->at, (size_t)n};
    in->at += n;
    in->n -= (size_t)n;
    return true;
}

// The bytes of a field; none where it is a number. False: broken.
static bool read_field(struct bytes *in, uint64_t *out_field, struct bytes *out)
{
    uint64_t key, n;
    *out = (struct bytes){in->at, 0};
    if (!read_varint(in, &key))
        return false;
    *out_field = key >> 3;
    switch ((enum wire)(key & 7)) {
    case VARINT:
        return read_varint(in, &n);
    case FIXED64:
        return take(in, 8, &(struct bytes){0});
    case FIXED32:
        return take(in, 4, &(struct bytes){0});
    case BYTES:
        return read_varint(in, &n) && take(in, n, out);
    }
    return false;
}

// Of a message its fields 1 to n; of one that is repeated, the last. Those that are missing stay as they are. False: broken.
static bool read_message(struct bytes in, struct bytes *fields, uint64_t n)
{
    while (in.n > 0) {
        uint64_t field;
        struct bytes value;
        if (!read_field(&in, &field, &value))
            return false;
        if (field >= 1 && field <= n)
            fields[field - 1] = value;
    }
    return true;
}

static bool is_text(struct bytes b, const char *text)
{
    return b.n == strlen(text) && memcmp(b.at, text, b.n) == 0;
}

static void write_review(const struct bytes *attributes, const struct bytes *values, struct rb_buf *out)
{
    static const char *const names[] = {"namespace", "verb", "group", "version", "resource", "subresource", "name"};
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_put(&j, "{apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview'");
    rb_json_kobject(&j, "spec");
    if (attributes->at)
        rb_json_kobject(&j, "resourceAttributes");
    for (size_t i = 0; attributes->at && i < sizeof names / sizeof *names; i++)
        if (values[i].n > 0)
            rb_json_kstring(&j, names[i], rb_arena_strndup(&arena, values[i].at, values[i].n));
    if (attributes->at)
        rb_json_end_object(&j);
    rb_json_end_object(&j);
    rb_json_put(&j, "}");
}

bool rb_k8s_protobuf_to_json(const char *body, size_t n, struct rb_buf *out)
{
    static const char magic[] = {'k', '8', 's', '\0'};
    struct bytes in = {body, n}, head, unknown[2] = {0}, type[2] = {0}, review[2] = {0}, spec[1] = {0}, values[7] = {0};
    if (!take(&in, sizeof magic, &head) || memcmp(head.at, magic, sizeof magic) != 0 || !read_message(in, unknown, 2) ||
        !read_message(unknown[0], type, 2) || !is_text(type[0], "authorization.k8s.io/v1") ||
        !is_text(type[1], "SelfSubjectAccessReview") || !read_message(unknown[1], review, 2) ||
        !read_message(review[1], spec, 1) || !read_message(spec[0], values, 7))
        return false;
    write_review(&spec[0], values, out);
    return true;
}
