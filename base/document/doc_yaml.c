// YAML through libyaml's events. Composition and the meaning of scalars are ours: the 1.2 core schema for plain
// scalars, text for quoted ones, and nothing that lets a small file grow (anchors, aliases) or change type (tags).
// Source: YAML 1.2.2, section 10.3.2, "Tag Resolution".
#include "base/document/doc_build.h"
#include "base/text/number.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    struct rb_doc_builder builder;
    struct rb_err *err;
    int n_documents;
};

static int from_one(size_t zero_based)
{
    return zero_based < INT_MAX ? (int)zero_based + 1 : INT_MAX;
}

static bool error_at(struct reader *r, yaml_mark_t mark, const char *what)
{
    return rb_doc_builder_error(&r->builder, from_one(mark.line), from_one(mark.column), r->err, "%s", what);
}

// Digits after "0x" or "0o". False if there is none or one is not of the base.
static bool parse_based(const char *digits, int base, struct rb_node *node)
{
    uint64_t v = 0;
    double approx = 0;
    bool fits = true;
    if (!*digits)
        return false;
    for (; *digits; digits++) {
        const char c = *digits;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : base;
        if (digit >= base)
            return false;
        fits = fits && v <= ((uint64_t)INT64_MAX - (uint64_t)digit) / (uint64_t)base;
        v = v * (uint64_t)base + (uint64_t)digit;
        approx = approx * base + digit;
    }
    node->kind = fits ? RB_NODE_INT : RB_NODE_FLOAT;
    node->integer = fits ? (int64_t)v : 0;
    node->number = approx;
    return true;
}

static bool too_large(const struct reader *r, const struct rb_node *node)
{
    return rb_node_refuse(node, r->err, RB_E_NOT_FINITE, "this number is too large; give a finite number");
}

// Gives a plain scalar its kind and value.
static bool resolve_plain(const struct reader *r, struct rb_node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const not_finite[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF", "-.inf",
                                             "-.Inf", "-.INF", "+.inf", "+.Inf", "+.INF", NULL};
    const char *s = node->text;
    if (rb_is_one_of(s, nulls)) {
        node->kind = RB_NODE_NULL;
    } else if (rb_is_one_of(s, trues) || rb_is_one_of(s, falses)) {
        node->kind = RB_NODE_BOOL;
        node->boolean = rb_is_one_of(s, trues);
    } else if (rb_is_one_of(s, not_finite)) {
        return rb_node_refuse(node, r->err, RB_E_NOT_FINITE, "NaN and infinity are not accepted; give a finite number");
    } else if ((strncmp(s, "0x", 2) == 0 && parse_based(s + 2, 16, node)) ||
               (strncmp(s, "0o", 2) == 0 && parse_based(s + 2, 8, node))) {
        return isfinite(node->number) || too_large(r, node);
    } else if (rb_parse_int(s, &node->integer)) {
        node->kind = RB_NODE_INT;
        node->number = (double)node->integer;
    } else if (rb_parse_double(s, &node->number)) {
        node->kind = RB_NODE_FLOAT;
    } else if (rb_is_number(s)) {
        return too_large(r, node);
    }
    return true;
}

static bool refuse_properties(struct reader *r, const yaml_char_t *anchor, const yaml_char_t *tag, yaml_mark_t mark)
{
    if (anchor)
        return error_at(r, mark, "anchors (&name) are not accepted; write the value out");
    if (tag)
        return error_at(r, mark, "tags (!name) are not accepted; write the plain value");
    return true;
}

static bool expects_key(const struct reader *r)
{
    const struct rb_node *inside = rb_doc_builder_inside(&r->builder);
    return inside && inside->kind == RB_NODE_MAP && !r->builder.key;
}

static bool on_scalar(struct reader *r, const yaml_event_t *event)
{
    const yaml_mark_t mark = event->start_mark;
    const char *text = (const char *)event->data.scalar.value;
    const size_t len = event->data.scalar.length;
    const bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (!refuse_properties(r, event->data.scalar.anchor, event->data.scalar.tag, mark))
        return false;
    if (memchr(text, '\0', len))
        return error_at(r, mark, "text may not hold a NUL byte");
    if (expects_key(r)) {
        if (len == 0)
            return error_at(r, mark, "a key is missing before ':'");
        rb_doc_builder_key(&r->builder, text, len, from_one(mark.line), from_one(mark.column));
        return true;
    }
    if (!rb_doc_builder_inside(&r->builder) && plain && len == 0)
        return error_at(r, mark, "the document is empty");
    struct rb_node *node =
        rb_doc_builder_add(&r->builder, RB_NODE_STRING, from_one(mark.line), from_one(mark.column), r->err);
    if (!node)
        return false;
    node->text = rb_arena_strndup(&r->builder.built.arena, text, len);
    node->text_len = len;
    return !plain || resolve_plain(r, node);
}

static bool on_container(struct reader *r, const yaml_event_t *event, enum rb_node_kind kind)
{
    const yaml_mark_t mark = event->start_mark;
    if (expects_key(r))
        return error_at(r, mark, "a key must be plain text, not a list or a map");
    struct rb_node *node = rb_doc_builder_add(&r->builder, kind, from_one(mark.line), from_one(mark.column), r->err);
    return node && rb_doc_builder_open(&r->builder, node, r->err);
}

static bool on_document(struct reader *r, const yaml_event_t *event)
{
    const yaml_version_directive_t *version = event->data.document_start.version_directive;
    if (r->n_documents++ > 0)
        return error_at(r, event->start_mark, "a second document starts here; expected one document in a file");
    if (version && !(version->major == 1 && version->minor == 2))
        return error_at(r, event->start_mark, "expected YAML 1.2; remove the %YAML line");
    if (event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
        return error_at(r, event->start_mark, "tags are not accepted; remove the %TAG line");
    return true;
}

static bool on_event(struct reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return on_document(r, event);
    case YAML_SCALAR_EVENT:
        return on_scalar(r, event);
    case YAML_ALIAS_EVENT:
        return error_at(r, event->start_mark, "aliases (*name) are not accepted; write the value out");
    case YAML_SEQUENCE_START_EVENT:
        return refuse_properties(r, event->data.sequence_start.anchor, event->data.sequence_start.tag,
                                 event->start_mark) &&
               on_container(r, event, RB_NODE_LIST);
    case YAML_MAPPING_START_EVENT:
        return refuse_properties(r, event->data.mapping_start.anchor, event->data.mapping_start.tag,
                                 event->start_mark) &&
               on_container(r, event, RB_NODE_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return rb_doc_builder_close(&r->builder, r->err);
    case YAML_STREAM_END_EVENT:
        return r->builder.root || error_at(r, (yaml_mark_t){0}, "the document is empty");
    default:
        return true; // starts and ends without content
    }
}

// Errors of libyaml's reader carry a byte offset only.
static yaml_mark_t mark_of_offset(const char *bytes, size_t n, size_t offset)
{
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < n && i < offset; i++) {
        if (bytes[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if (((unsigned char)bytes[i] & 0xC0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

static bool begins_no_token(const yaml_parser_t *p)
{
    return p->problem && strcmp(p->problem, "found character that cannot start any token") == 0;
}

static bool syntax_error(struct reader *r, const char *bytes, size_t n)
{
    const yaml_parser_t *p = &r->parser;
    const bool in_reader = p->error == YAML_READER_ERROR;
    const yaml_mark_t mark = in_reader ? mark_of_offset(bytes, n, p->problem_offset) : p->problem_mark;
    char what[256];
    if (begins_no_token(p))
        return error_at(r, mark,
                        "not valid YAML: a tab, or one of @ ` % where a value begins; indent with spaces, and put "
                        "such a value in quotes");
    snprintf(what, sizeof what, "not valid YAML: %s%s%s", p->problem ? p->problem : "out of memory",
             p->context ? " " : "", p->context ? p->context : "");
    return error_at(r, mark, what);
}

static bool read_events(struct reader *r, const char *bytes, size_t n)
{
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)bytes, n);
    for (bool at_end = false; !at_end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event))
            return syntax_error(r, bytes, n);
        at_end = event.type == YAML_STREAM_END_EVENT;
        const bool ok = on_event(r, &event);
        yaml_event_delete(&event);
        if (!ok)
            return false;
    }
    return true;
}

bool rb_doc_parse_yaml(struct rb_doc *out, const char *name, const char *bytes, size_t n, struct rb_err *err)
{
    struct reader r = {.err = err};
    if (!yaml_parser_initialize(&r.parser))
        return rb_err_set(err, RB_E_MEMORY, "cannot start the YAML parser: out of memory");
    rb_doc_builder_init(&r.builder, name);
    const bool ok = read_events(&r, bytes, n);
    if (ok)
        rb_doc_builder_deliver(&r.builder, out);
    rb_doc_builder_finish(&r.builder);
    yaml_parser_delete(&r.parser);
    return ok;
}
