#include "commands/rbmcp/clean.h"

#include "base/limits.h"
#include "base/text/utf8.h"

#include <string.h>
#include <unistd.h>

#define HIDDEN "[hidden]"
#define CUT    "... [cut]"

enum { SHORTEST_SECRET = 8 }; // a shorter value would hide words that only look like it

// Wider than rb_child_is_credential: hiding a word too many costs nothing here.
static bool names_a_secret(const char *entry, size_t n)
{
    static const char *const words[] = {"SECRET", "TOKEN", "KEY", "CREDENTIAL", "PASSWORD", "PASSWD", "JWT", "AUTH"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(entry, n, words[i], strlen(words[i])))
            return true;
    return false;
}

// Bytes of a secret that the text begins with; 0: none.
static size_t secret_len(const char *text, size_t n)
{
    for (char **entry = environ; entry && *entry; entry++) {
        const char *value = strchr(*entry, '=');
        if (!value || value[1] != text[0])
            continue;
        const size_t len = strlen(value + 1);
        if (len >= SHORTEST_SECRET && len <= n && memcmp(text, value + 1, len) == 0 &&
            names_a_secret(*entry, (size_t)(value - *entry)))
            return len;
    }
    return 0;
}

static bool is_control(const char *s, size_t len)
{
    const unsigned char c = (unsigned char)s[0];
    if (len == 1)
        return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    return len == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0; // C1
}

void rb_mcp_clean_text(const char *text, size_t n, struct rb_buf *out)
{
    const size_t begin = out->len;
    rb_buf_puts(out, "");
    for (size_t at = 0; at < n;) {
        if (out->len - begin >= RB_LIMIT_MCP_TEXT) {
            rb_buf_puts(out, CUT);
            return;
        }
        const size_t secret = secret_len(text + at, n - at);
        const size_t len = rb_utf8_char_len(text + at, n - at);
        if (secret)
            rb_buf_puts(out, HIDDEN);
        else if (len == 0 || is_control(text + at, len))
            rb_buf_putc(out, '?');
        else
            rb_buf_append(out, text + at, len);
        at += secret ? secret : len ? len : 1;
    }
}

static void write_string(struct rb_json *j, const char *text, void (*write)(struct rb_json *, const char *))
{
    RB_AUTO(rb_buf_finish) struct rb_buf clean = RB_BUF_INIT;
    rb_mcp_clean_text(text, strlen(text), &clean);
    write(j, rb_buf_str(&clean));
}

static void write_children(struct rb_json *j, const struct rb_node *node)
{
    for (const struct rb_node *child = node->first; child; child = child->next) {
        if (node->kind == RB_NODE_MAP)
            write_string(j, child->key, rb_json_key);
        rb_mcp_write_clean(j, child);
    }
}

void rb_mcp_write_clean(struct rb_json *j, const struct rb_node *node)
{
    switch (node->kind) {
    case RB_NODE_STRING:
        write_string(j, node->text, rb_json_string);
        break;
    case RB_NODE_LIST:
        rb_json_begin_array(j);
        write_children(j, node);
        rb_json_end_array(j);
        break;
    case RB_NODE_MAP:
        rb_json_begin_object(j);
        write_children(j, node);
        rb_json_end_object(j);
        break;
    default:
        rb_json_node(j, node);
    }
}
