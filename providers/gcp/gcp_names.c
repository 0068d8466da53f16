#include "providers/gcp/gcp_names.h"

#include "base/limits.h"
#include "base/text/number.h"
#include "base/text/table.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUE_LEN = 63, MAX_PARTS = 4, GANG_NAME_LEN = 35 };

// Random, ours, once and for all: another one would make other request ids of the same names.
static const uint8_t name_space[16] = {0x5d, 0x0e, 0x91, 0xb2, 0x7c, 0x3f, 0x4a, 0x66,
                                       0x9d, 0x14, 0xe8, 0x02, 0xc5, 0x7b, 0xa3, 0x39};

static const struct key {
    const char *tag, *label;
} keys[] = {
    {RB_TAG_RUN, "rb-run"}, {RB_TAG_LAUNCH, "rb-launch"}, {RB_TAG_OWNER, "rb-owner"}, {RB_LEASE_TAG, "rb-expires-at"}};

void rb_gcp_instance_name(const char *token, const char *zone, char out[static RB_GCP_NAME_BYTES])
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    char digest[65];
    rb_buf_printf(&text, "%s|%s", zone, token);
    rb_digest_sha256(text.data, text.len, digest);
    snprintf(out, RB_GCP_NAME_BYTES, "rb-%.32s", digest);
}

void rb_gcp_member_name(const char *gang, int member, char out[static RB_GCP_NAME_BYTES])
{
    snprintf(out, RB_GCP_NAME_BYTES, "%.40s-%d", gang, member);
}

int rb_gcp_member_of(const char *name)
{
    int64_t member = 0;
    const char *dash = strlen(name) > GANG_NAME_LEN && name[GANG_NAME_LEN] == '-' ? name + GANG_NAME_LEN : NULL;
    return dash && rb_parse_int(dash + 1, &member) && member >= 0 && member < RB_LIMIT_NODES ? (int)member : 0;
}

void rb_gcp_request_id(const char *name, char out[static RB_GCP_UUID_BYTES])
{
    rb_digest_uuid5(name_space, name, out);
}

char *rb_gcp_instance_id(struct rb_arena *arena, const char *name, const char *zone)
{
    return rb_arena_printf(arena, "%s.%s", name, zone);
}

bool rb_gcp_instance_id_split(const char *id, struct rb_arena *arena, const char **out_name, const char **out_zone)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const size_t name_len = strspn(id, alphabet);
    if (name_len == 0 || name_len > 63 || id[name_len] != '.')
        return false;
    const char *zone = id + name_len + 1;
    const size_t zone_len = strlen(zone);
    if (zone_len == 0 || zone_len > 63 || strspn(zone, alphabet) != zone_len)
        return false;
    *out_name = rb_arena_strndup(arena, id, name_len);
    *out_zone = rb_arena_strdup(arena, zone);
    return true;
}

static bool stands_for_itself(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

static void encode(const char *value, struct rb_buf *out)
{
    for (; *value; value++) {
        if (stands_for_itself(*value))
            rb_buf_putc(out, *value);
        else
            rb_buf_printf(out, "_%02x", (unsigned char)*value);
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode(const char *text, struct rb_buf *out)
{
    for (; *text; text++) {
        if (*text != '_') {
            rb_buf_putc(out, *text);
            continue;
        }
        const int high = hex_digit(text[1]), low = high >= 0 ? hex_digit(text[2]) : -1;
        if (low < 0 || (high | low) == 0)
            return false;
        rb_buf_putc(out, (char)(high << 4 | low));
        text += 2;
    }
    return true;
}

static const char *label_of(const char *tag_key)
{
    const struct key *key = RB_ROW_OF(keys, tag_key);
    return key ? key->label : NULL;
}

// "rb-run", "rb-run_2", ...
static void part_key(const char *label, int part, char out[static 64])
{
    if (part == 0)
        snprintf(out, 64, "%s", label);
    else
        snprintf(out, 64, "%s_%d", label, part + 1);
}

bool rb_gcp_put_label(const struct rb_tag *tag, struct rb_gcp_label out[static RB_GCP_MAX_LABELS], int *n,
                      struct rb_err *err)
{
    const char *label = label_of(tag->key);
    if (!label)
        return rb_err_set(err, RB_E_GCP_LABELS, "tag %s: it has no label on Compute Engine", tag->key);
    RB_AUTO(rb_buf_finish) struct rb_buf value = RB_BUF_INIT;
    encode(tag->value, &value);
    if (value.len > (size_t)MAX_PARTS * MAX_VALUE_LEN)
        return rb_err_set(err, RB_E_GCP_LABELS, "tag %s: '%.60s...' takes more than %d labels; shorten it", tag->key,
                          tag->value, MAX_PARTS);
    for (size_t at = 0, part = 0; at < value.len || part == 0; at += MAX_VALUE_LEN, part++) {
        struct rb_gcp_label *l = &out[(*n)++];
        part_key(label, (int)part, l->key);
        snprintf(l->value, sizeof l->value, "%.*s", MAX_VALUE_LEN, rb_buf_str(&value) + at);
    }
    return true;
}

bool rb_gcp_labels(const struct rb_tags *tags, struct rb_gcp_label out[static RB_GCP_MAX_LABELS], int *out_n,
                   struct rb_err *err)
{
    struct rb_tags labelled = *tags;
    struct rb_tag all[RB_TAGS];
    int n = 0;
    labelled.name = NULL;
    const int n_tags = rb_tags_list(&labelled, all);
    for (int i = 0; i < n_tags; i++)
        if (!rb_gcp_put_label(&all[i], out, &n, err))
            return false;
    *out_n = n;
    return true;
}

const char *rb_gcp_tag(const struct rb_node *labels, const char *tag_key, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf encoded = RB_BUF_INIT, value = RB_BUF_INIT;
    char key[64];
    for (int i = 0; i < MAX_PARTS; i++) {
        part_key(label_of(tag_key), i, key);
        const struct rb_node *part = rb_node_member(labels, key);
        if (!part || part->kind != RB_NODE_STRING)
            break;
        rb_buf_puts(&encoded, part->text);
    }
    if (encoded.len == 0 || !decode(rb_buf_str(&encoded), &value))
        return NULL;
    return rb_arena_strdup(arena, rb_buf_str(&value));
}

bool rb_gcp_is_label_of(const char *label_key, const char *tag_key)
{
    char key[64];
    for (int i = 0; i < MAX_PARTS; i++) {
        part_key(label_of(tag_key), i, key);
        if (strcmp(key, label_key) == 0)
            return true;
    }
    return false;
}

void rb_gcp_filter(const char *tag_key, const char *value, struct rb_buf *out)
{
    if (!tag_key) {
        rb_buf_printf(out, "labels.%s:*", label_of(RB_TAG_OWNER));
        return;
    }
    RB_AUTO(rb_buf_finish) struct rb_buf encoded = RB_BUF_INIT;
    encode(value, &encoded);
    rb_buf_printf(out, "labels.%s=%.*s", label_of(tag_key), MAX_VALUE_LEN, rb_buf_str(&encoded));
}
