#include "profiles/script/python_text.h"

#include "base/text/buf.h"

#include <ctype.h>
#include <string.h>

#define MAX_OPEN 200 // brackets open at once; no script has more

struct reader {
    const char *p;
    struct rb_arena *arena;
    struct rb_py_token *tokens;
    int n, line, indent;
    int open[MAX_OPEN], n_open;
};

static void add(struct reader *r, enum rb_py_kind kind, size_t n)
{
    r->tokens = rb_arena_grow(r->arena, r->tokens, r->n, sizeof *r->tokens);
    r->tokens[r->n++] = (struct rb_py_token){kind, r->p, n, r->line, r->indent, -1};
}

// --- strings

// r, b, f, u and their pairs in front of a quote.
static size_t prefix_length(const char *p)
{
    const size_t n = strspn(p, "rRbBfFuU");
    return n <= 2 && (p[n] == '"' || p[n] == '\'') ? n : 0;
}

static bool begins_string(const char *p)
{
    return p[0] == '"' || p[0] == '\'' || prefix_length(p) > 0;
}

// Without an end, up to the end of the line or the source.
static size_t string_length(const char *p, bool *closed)
{
    const char *q = p + prefix_length(p);
    const char quote = *q;
    const bool is_long = q[1] == quote && q[2] == quote;
    for (q += is_long ? 3 : 1; *q && (is_long || *q != '\n'); q++) {
        if (*q == '\\' && q[1])
            q++;
        else if (*q == quote && (!is_long || (q[1] == quote && q[2] == quote))) {
            *closed = true;
            return (size_t)(q - p) + (is_long ? 3 : 1);
        }
    }
    *closed = false;
    return (size_t)(q - p);
}

// --- tokens

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static size_t number_length(const char *p)
{
    size_t n = 0;
    while (is_name_byte(p[n]) || p[n] == '.' ||
           ((p[n] == '-' || p[n] == '+') && n > 0 && strchr("eE", p[n - 1]) && p[1] != 'x'))
        n++;
    return n;
}

static size_t operator_length(const char *p)
{
    static const char *const longer[] = {"==", "!=", "<=", ">=", "**", "//", "->", ":=", "+=", "-=", "*=", "/=", NULL};
    for (const char *const *o = longer; *o; o++)
        if (strncmp(p, *o, 2) == 0)
            return 2;
    return 1;
}

static void read_bracket(struct reader *r)
{
    const bool opens = strchr("([{", *r->p);
    add(r, RB_PY_OP, 1);
    if (opens && r->n_open < MAX_OPEN) {
        r->open[r->n_open++] = r->n - 1;
    } else if (!opens && r->n_open > 0) {
        const int other = r->open[--r->n_open];
        r->tokens[other].match = r->n - 1;
        r->tokens[r->n - 1].match = other;
    }
}

// Behind a line end: the indentation of the next line.
static void begin_line(struct reader *r)
{
    r->line++;
    if (r->n_open == 0)
        r->indent = (int)strspn(r->p, " \t");
}

static void read_string(struct reader *r)
{
    bool closed;
    const size_t n = string_length(r->p, &closed);
    add(r, RB_PY_STRING, n);
    for (const char *end = r->p + n; r->p < end; r->p++)
        r->line += *r->p == '\n';
}

static void read_one(struct reader *r)
{
    size_t n = 1;
    if (*r->p == '\n') {
        if (r->n_open == 0 && r->n > 0 && r->tokens[r->n - 1].kind != RB_PY_NEWLINE)
            add(r, RB_PY_NEWLINE, 1);
        r->p++;
        begin_line(r);
        return;
    }
    if (begins_string(r->p)) {
        read_string(r);
        return;
    }
    if (*r->p == '#') {
        n = strcspn(r->p, "\n");
    } else if (*r->p == '\\' && r->p[1] == '\n') {
        n = 2;
        r->line++;
    } else if (isdigit((unsigned char)*r->p) || (*r->p == '.' && isdigit((unsigned char)r->p[1]))) {
        add(r, RB_PY_NUMBER, n = number_length(r->p));
    } else if (is_name_byte(*r->p)) {
        while (is_name_byte(r->p[n]))
            n++;
        add(r, RB_PY_NAME, n);
    } else if (strchr("()[]{}", *r->p)) {
        read_bracket(r);
    } else if (!isspace((unsigned char)*r->p)) {
        add(r, RB_PY_OP, n = operator_length(r->p));
    }
    r->p += n;
}

void rb_py_read(const char *source, struct rb_arena *arena, struct rb_py_text *out)
{
    struct reader r = {.p = source, .arena = arena, .line = 1, .indent = (int)strspn(source, " \t")};
    while (*r.p)
        read_one(&r);
    add(&r, RB_PY_END, 0);
    for (int i = 0; i < r.n; i++)
        if (r.tokens[i].match < 0)
            r.tokens[i].match = r.n - 1;
    *out = (struct rb_py_text){r.tokens, r.n - 1};
}

// --- looking at tokens

bool rb_py_is(const struct rb_py_token *t, const char *text)
{
    return t->kind != RB_PY_STRING && t->n == strlen(text) && strncmp(t->at, text, t->n) == 0;
}

bool rb_py_is_fstring(const struct rb_py_token *t)
{
    return t->kind == RB_PY_STRING && memchr(t->at, 'f', prefix_length(t->at)) != NULL;
}

static char escaped(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
}

const char *rb_py_string(const struct rb_py_token *t, struct rb_arena *arena)
{
    if (t->kind != RB_PY_STRING)
        return NULL;
    const size_t prefix = prefix_length(t->at);
    const bool raw = memchr(t->at, 'r', prefix) || memchr(t->at, 'R', prefix);
    const char *p = t->at + prefix, *end = t->at + t->n;
    const size_t quotes = end - p >= 6 && p[1] == p[0] && p[2] == p[0] ? 3 : 1;
    bool closed;
    string_length(t->at, &closed);
    if (!closed || memchr(t->at, 'b', prefix) || memchr(t->at, 'B', prefix))
        return NULL;
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    for (p += quotes, end -= quotes; p < end; p++) {
        const bool escape = *p == '\\' && !raw && p + 1 < end;
        p += escape;
        if (!escape || *p != '\n')
            rb_buf_putc(&text, escape ? escaped(*p) : *p);
    }
    return rb_arena_strndup(arena, rb_buf_str(&text), text.len);
}

static int next_comma(const struct rb_py_text *text, int i, int end)
{
    while (i < end && !rb_py_is(&text->tokens[i], ","))
        i = strchr("([{", *text->tokens[i].at) && text->tokens[i].kind == RB_PY_OP ? text->tokens[i].match + 1 : i + 1;
    return i < end ? i : end;
}

static struct rb_py_argument argument_of(const struct rb_py_text *text, int first, int end)
{
    const struct rb_py_token *t = &text->tokens[first];
    const bool named = end - first > 1 && t->kind == RB_PY_NAME && rb_py_is(t + 1, "=");
    return (struct rb_py_argument){named ? t : NULL, {named ? first + 2 : first, end}};
}

int rb_py_arguments(const struct rb_py_text *text, int open, struct rb_arena *arena, const struct rb_py_argument **out)
{
    const int end = text->tokens[open].match;
    int n = 0, most = 1;
    for (int i = next_comma(text, open + 1, end); i < end; i = next_comma(text, i + 1, end))
        most++;
    struct rb_py_argument *arguments = rb_arena_array(arena, (size_t)most, sizeof *arguments);
    for (int i = open + 1; i < end;) {
        const int comma = next_comma(text, i, end);
        if (comma > i)
            arguments[n++] = argument_of(text, i, comma);
        i = comma + 1;
    }
    *out = arguments;
    return n;
}

const char *rb_py_source(const struct rb_py_text *text, struct rb_py_span span, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf source = RB_BUF_INIT;
    for (int i = span.first; i < span.end; i++) {
        const struct rb_py_token *t = &text->tokens[i];
        if (i > span.first && t->at > t[-1].at + t[-1].n)
            rb_buf_putc(&source, ' ');
        for (size_t k = 0; k < t->n; k++)
            rb_buf_putc(&source, t->at[k] == '\n' ? ' ' : t->at[k]);
    }
    return source.len ? rb_arena_strndup(arena, rb_buf_str(&source), source.len) : NULL;
}
