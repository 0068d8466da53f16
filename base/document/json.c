// The only writer of JSON. Everything is appended to a buffer; nothing here can fail.
#include "base/document/json.h"

#include "base/text/number.h"
#include "base/text/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

void rb_json_init(struct rb_json *j, struct rb_buf *out, bool pretty)
{
    *j = (struct rb_json){.out = out, .pretty = pretty};
}

static void new_line(struct rb_json *j)
{
    if (!j->pretty)
        return;
    rb_buf_putc(j->out, '\n');
    for (int i = 0; i < j->depth; i++)
        rb_buf_puts(j->out, "  ");
}

// Before any value or key: the comma that is due, and the line it starts on.
static void before_item(struct rb_json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->need_comma)
        rb_buf_putc(j->out, ',');
    if (j->depth > 0)
        new_line(j);
}

static void begin(struct rb_json *j, char bracket)
{
    before_item(j);
    rb_buf_putc(j->out, bracket);
    j->depth++;
    j->need_comma = false;
}

static void end(struct rb_json *j, char bracket)
{
    assert(j->depth > 0 && !j->after_key);
    j->depth--;
    if (j->need_comma) // the brackets are not empty
        new_line(j);
    rb_buf_putc(j->out, bracket);
    j->need_comma = true;
}

void rb_json_begin_object(struct rb_json *j)
{
    begin(j, '{');
}

void rb_json_end_object(struct rb_json *j)
{
    end(j, '}');
}

void rb_json_begin_array(struct rb_json *j)
{
    begin(j, '[');
}

void rb_json_end_array(struct rb_json *j)
{
    end(j, ']');
}

static void put_escaped(struct rb_buf *out, unsigned char c)
{
    switch (c) {
    case '"':
        rb_buf_puts(out, "\\\"");
        break;
    case '\\':
        rb_buf_puts(out, "\\\\");
        break;
    case '\b':
        rb_buf_puts(out, "\\b");
        break;
    case '\f':
        rb_buf_puts(out, "\\f");
        break;
    case '\n':
        rb_buf_puts(out, "\\n");
        break;
    case '\r':
        rb_buf_puts(out, "\\r");
        break;
    case '\t':
        rb_buf_puts(out, "\\t");
        break;
    default:
        rb_buf_printf(out, "\\u%04x", c);
        break;
    }
}

static bool needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

static void put_quoted(struct rb_buf *out, const char *s)
{
    size_t n = strlen(s);
    rb_buf_putc(out, '"');
    while (n > 0) {
        size_t len = rb_utf8_char_len(s, n);
        if (len == 0) {
            rb_buf_puts(out, "\xEF\xBF\xBD"); // U+FFFD in place of each byte that is not UTF-8
            len = 1;
        } else if (len == 1 && needs_escape((unsigned char)*s)) {
            put_escaped(out, (unsigned char)*s);
        } else {
            rb_buf_append(out, s, len);
        }
        s += len;
        n -= len;
    }
    rb_buf_putc(out, '"');
}

void rb_json_key(struct rb_json *j, const char *key)
{
    assert(j->depth > 0 && !j->after_key);
    before_item(j);
    put_quoted(j->out, key);
    rb_buf_puts(j->out, j->pretty ? ": " : ":");
    j->need_comma = true;
    j->after_key = true;
}

void rb_json_string(struct rb_json *j, const char *s)
{
    if (!s) {
        rb_json_null(j);
        return;
    }
    before_item(j);
    put_quoted(j->out, s);
    j->need_comma = true;
}

static void put_word(struct rb_json *j, const char *word)
{
    before_item(j);
    rb_buf_puts(j->out, word);
    j->need_comma = true;
}

void rb_json_int(struct rb_json *j, int64_t v)
{
    before_item(j);
    rb_buf_printf(j->out, "%" PRId64, v);
    j->need_comma = true;
}

void rb_json_double(struct rb_json *j, double v)
{
    assert(isfinite(v));
    char text[32];
    // "-0" would read back as the integer 0 and lose its sign.
    put_word(j, fpclassify(v) == FP_ZERO && signbit(v) ? "-0.0" : rb_format_double(v, text));
}

void rb_json_bool(struct rb_json *j, bool v)
{
    put_word(j, v ? "true" : "false");
}

void rb_json_null(struct rb_json *j)
{
    put_word(j, "null");
}

static void put_children(struct rb_json *j, const struct rb_node *node)
{
    for (const struct rb_node *child = node->first; child; child = child->next) {
        if (child->key)
            rb_json_key(j, child->key);
        rb_json_node(j, child);
    }
}

void rb_json_node(struct rb_json *j, const struct rb_node *node)
{
    switch (node->kind) {
    case RB_NODE_NULL:
        rb_json_null(j);
        break;
    case RB_NODE_BOOL:
        rb_json_bool(j, node->boolean);
        break;
    case RB_NODE_INT:
        rb_json_int(j, node->integer);
        break;
    case RB_NODE_FLOAT:
        rb_json_double(j, node->number);
        break;
    case RB_NODE_STRING:
        rb_json_string(j, node->text);
        break;
    case RB_NODE_LIST:
        rb_json_begin_array(j);
        put_children(j, node);
        rb_json_end_array(j);
        break;
    case RB_NODE_MAP:
        rb_json_begin_object(j);
        put_children(j, node);
        rb_json_end_object(j);
        break;
    }
}

void rb_json_kobject(struct rb_json *j, const char *key)
{
    rb_json_key(j, key);
    rb_json_begin_object(j);
}

void rb_json_karray(struct rb_json *j, const char *key)
{
    rb_json_key(j, key);
    rb_json_begin_array(j);
}

void rb_json_kstrings(struct rb_json *j, const char *key, const char *const *items, int n)
{
    rb_json_karray(j, key);
    for (int i = 0; i < n; i++)
        rb_json_string(j, items[i]);
    rb_json_end_array(j);
}

void rb_json_kstring(struct rb_json *j, const char *key, const char *s)
{
    rb_json_key(j, key);
    rb_json_string(j, s);
}

void rb_json_kint(struct rb_json *j, const char *key, int64_t v)
{
    rb_json_key(j, key);
    rb_json_int(j, v);
}

void rb_json_kint_or_null(struct rb_json *j, const char *key, int64_t v)
{
    rb_json_key(j, key);
    if (v >= 0)
        rb_json_int(j, v);
    else
        rb_json_null(j);
}

void rb_json_kdouble_or_null(struct rb_json *j, const char *key, double v)
{
    rb_json_key(j, key);
    if (isfinite(v))
        rb_json_double(j, v);
    else
        rb_json_null(j);
}

void rb_json_kdouble(struct rb_json *j, const char *key, double v)
{
    rb_json_key(j, key);
    rb_json_double(j, v);
}

void rb_json_kbool(struct rb_json *j, const char *key, bool v)
{
    rb_json_key(j, key);
    rb_json_bool(j, v);
}
