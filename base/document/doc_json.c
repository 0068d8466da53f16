// JSON in three passes. A scan bounds depth and size before anything is allocated. cJSON then parses and decodes
// strings; it is lenient (leading zeros, control characters, NUL, repeated keys) and keeps numbers as doubles only.
// So a walk over the tree and the text in step does the rest: strict RFC 8259 grammar, the place of every value,
// and numbers from their text.
#include "base/document/doc_build.h"
#include "base/text/number.h"
#include "base/text/utf8.h"

#include <cjson/cJSON.h>
#include <string.h>

struct cursor {
    const char *at, *end;
    int line, column;
};

struct reader {
    struct rb_doc_builder builder;
    struct cursor c;
    struct rb_err *err;
};

static void auto_delete(cJSON **tree)
{
    cJSON_Delete(*tree);
}

static void step(struct cursor *c)
{
    if (*c->at == '\n') {
        c->line++;
        c->column = 0;
    }
    c->at++;
    if (c->at == c->end || ((unsigned char)*c->at & 0xC0) != 0x80) // columns count characters
        c->column++;
}

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        step(c);
}

static bool error_here(struct reader *r, const char *what)
{
    return rb_doc_builder_error(&r->builder, r->c.line, r->c.column, r->err, "%s", what);
}

// Counts the structure's marks, an upper bound of the number of values, so that a hostile file is refused before cJSON
// spends a hundred times its size on it.
static bool check_limits(struct reader *r)
{
    struct cursor *c = &r->c;
    int depth = 0, n_values = 1;
    bool in_string = false;
    for (; c->at < c->end; step(c)) {
        if (in_string) {
            if (*c->at == '\\' && c->end - c->at > 1)
                step(c);
            else if (*c->at == '"')
                in_string = false;
        } else if (*c->at == '"') {
            in_string = true;
        } else if (*c->at == '[' || *c->at == '{') {
            n_values++;
            if (++depth > RB_LIMIT_DOC_DEPTH)
                return rb_doc_builder_error(&r->builder, c->line, c->column, r->err,
                                            "lists and maps are nested more than %d deep", RB_LIMIT_DOC_DEPTH);
        } else if (*c->at == ']' || *c->at == '}') {
            depth--;
        } else if (*c->at == ',') {
            n_values++;
        }
        if (n_values > 2 * RB_LIMIT_DOC_NODES)
            return rb_doc_builder_error(&r->builder, c->line, c->column, r->err, "the document has more than %d values",
                                        RB_LIMIT_DOC_NODES);
    }
    return true;
}

static bool expect(struct reader *r, char wanted)
{
    skip_space(&r->c);
    if (r->c.at == r->c.end || *r->c.at != wanted) {
        char what[32] = "not valid JSON: expected '?'";
        what[strlen(what) - 2] = wanted;
        return error_here(r, what);
    }
    step(&r->c);
    return true;
}

// Passes over a string, from its opening to behind its closing quote.
static bool walk_string(struct reader *r)
{
    struct cursor *c = &r->c;
    if (!expect(r, '"'))
        return false;
    while (c->at < c->end && *c->at != '"') {
        const size_t len = rb_utf8_char_len(c->at, (size_t)(c->end - c->at));
        if (len == 0)
            return error_here(r, "this text is not valid UTF-8");
        if ((unsigned char)*c->at < 0x20)
            return error_here(r, "control characters in text must be escaped, as in \\n or \\u0009");
        if (*c->at == '\\') {
            if (c->end - c->at >= 6 && memcmp(c->at, "\\u0000", 6) == 0)
                return error_here(r, "text may not hold a NUL byte");
            step(c); // the next character is escaped, for example a quote; cJSON has checked it
            if (c->at == c->end)
                break;
        }
        for (size_t i = 0; i < len; i++)
            step(c);
    }
    return expect(r, '"');
}

static const char *skip_digits(const char *s, const char *end)
{
    while (s < end && *s >= '0' && *s <= '9')
        s++;
    return s;
}

// End of the number at s by the grammar of RFC 8259, section 6, or NULL.
static const char *number_end(const char *s, const char *end, bool *is_integer)
{
    s += s < end && *s == '-';
    const char *digits = s;
    s = skip_digits(s, end);
    if (s == digits || (*digits == '0' && s - digits > 1))
        return NULL;
    *is_integer = true;
    if (s < end && *s == '.') {
        *is_integer = false;
        digits = ++s;
        s = skip_digits(s, end);
        if (s == digits)
            return NULL;
    }
    if (s < end && (*s == 'e' || *s == 'E')) {
        *is_integer = false;
        s++;
        s += s < end && (*s == '-' || *s == '+');
        digits = s;
        s = skip_digits(s, end);
        if (s == digits)
            return NULL;
    }
    return s;
}

static bool walk_number(struct reader *r, struct rb_node *node)
{
    bool is_integer;
    const char *end = number_end(r->c.at, r->c.end, &is_integer);
    if (!end)
        return error_here(r, "not a JSON number (no leading zeros, digits on both sides of the point)");
    node->text_len = (size_t)(end - r->c.at);
    node->text = rb_arena_strndup(&r->builder.built.arena, r->c.at, node->text_len);
    if (is_integer && rb_parse_int(node->text, &node->integer)) {
        node->kind = RB_NODE_INT;
        node->number = (double)node->integer;
    } else if (!rb_parse_double(node->text, &node->number)) {
        return error_here(r, "this number is too large; give a finite number");
    }
    while (r->c.at < end)
        step(&r->c);
    return true;
}

static bool walk_word(struct reader *r, struct rb_node *node, const char *word)
{
    node->text = word;
    node->text_len = strlen(word);
    for (; *word; word++)
        if (!expect(r, *word))
            return false;
    return true;
}

static bool walk_value(struct reader *r, const cJSON *item);

static bool walk_member(struct reader *r, const cJSON *item)
{
    skip_space(&r->c);
    const int line = r->c.line, column = r->c.column;
    if (!walk_string(r))
        return false;
    rb_doc_builder_key(&r->builder, item->string, strlen(item->string), line, column);
    return expect(r, ':') && walk_value(r, item);
}

static bool walk_container(struct reader *r, const cJSON *container, struct rb_node *node)
{
    const bool is_map = node->kind == RB_NODE_MAP;
    if (!expect(r, is_map ? '{' : '[') || !rb_doc_builder_open(&r->builder, node, r->err))
        return false;
    for (const cJSON *item = container->child; item; item = item->next) {
        if (item != container->child && !expect(r, ','))
            return false;
        if (!(is_map ? walk_member(r, item) : walk_value(r, item)))
            return false;
    }
    return expect(r, is_map ? '}' : ']') && rb_doc_builder_close(&r->builder, r->err);
}

static enum rb_node_kind kind_of(const cJSON *item)
{
    return cJSON_IsObject(item)   ? RB_NODE_MAP
           : cJSON_IsArray(item)  ? RB_NODE_LIST
           : cJSON_IsString(item) ? RB_NODE_STRING
           : cJSON_IsNumber(item) ? RB_NODE_FLOAT // walk_number finds the integers
           : cJSON_IsBool(item)   ? RB_NODE_BOOL
                                  : RB_NODE_NULL;
}

// Recursion is bounded: check_limits has bounded the depth.
static bool walk_value(struct reader *r, const cJSON *item)
{
    skip_space(&r->c);
    struct rb_node *node = rb_doc_builder_add(&r->builder, kind_of(item), r->c.line, r->c.column, r->err);
    if (!node)
        return false;
    switch (node->kind) {
    case RB_NODE_MAP:
    case RB_NODE_LIST:
        return walk_container(r, item, node);
    case RB_NODE_INT:
    case RB_NODE_FLOAT:
        return walk_number(r, node);
    case RB_NODE_STRING:
        node->text_len = strlen(item->valuestring);
        node->text = rb_arena_strndup(&r->builder.built.arena, item->valuestring, node->text_len);
        return walk_string(r);
    case RB_NODE_BOOL:
        node->boolean = cJSON_IsTrue(item);
        return walk_word(r, node, node->boolean ? "true" : "false");
    case RB_NODE_NULL:
        break;
    }
    return walk_word(r, node, "null");
}

static bool syntax_error(struct reader *r, const char *stopped_at)
{
    while (r->c.at < r->c.end && r->c.at < stopped_at)
        step(&r->c);
    skip_space(&r->c);
    return error_here(r, r->c.at == r->c.end ? "not valid JSON: the text ends too early; is the file cut off?"
                                             : "not valid JSON from here on");
}

static bool read_text(struct reader *r, const char *bytes, size_t n)
{
    const struct cursor start = {bytes, bytes + n, 1, 1};
    r->c = start;
    skip_space(&r->c);
    if (r->c.at == r->c.end)
        return error_here(r, "the document is empty");
    if (!check_limits(r))
        return false;
    r->c = start;
    const char *stopped_at = bytes;
    // Passes the NUL behind the text too: without one cJSON 1.7.15 reads past the end (CVE-2023-53154).
    RB_AUTO(auto_delete) cJSON *tree = cJSON_ParseWithLengthOpts(bytes, n + 1, &stopped_at, false);
    if (!tree)
        return syntax_error(r, stopped_at);
    if (!walk_value(r, tree))
        return false;
    skip_space(&r->c);
    return r->c.at == r->c.end || error_here(r, "expected the end of the document after its value");
}

bool rb_doc_parse_json(struct rb_doc *out, const char *name, const char *bytes, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *terminated = rb_xcalloc(n + 1, 1);
    if (n)
        memcpy(terminated, bytes, n);
    struct reader r = {.err = err};
    rb_doc_builder_init(&r.builder, name);
    const bool ok = read_text(&r, terminated, n);
    if (ok)
        rb_doc_builder_deliver(&r.builder, out);
    rb_doc_builder_finish(&r.builder);
    return ok;
}
