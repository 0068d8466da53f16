// application/x-www-form-urlencoded, decoded once.
#include "providers/mock/ec2/mock_ec2_form.h"
#include "base/text/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_utf8(const char *s)
{
    for (size_t n = strlen(s), len; n > 0; s += len, n -= len)
        if ((len = rb_utf8_char_len(s, n)) == 0)
            return false;
    return true;
}

// NULL: broken escape, a NUL byte, or not UTF-8 (XML could not carry it back).
static const char *decode(const char *text, size_t n, struct rb_arena *arena)
{
    char *out = rb_arena_alloc(arena, n + 1), *end = out;
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)text[i];
        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            if (n - i < 3 || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0)
                return NULL;
            c = hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]);
            i += 2;
        }
        if (c == 0)
            return NULL;
        *end++ = (char)c;
    }
    return is_utf8(out) ? out : NULL;
}

static struct rb_form_field *find(const struct rb_form *form, const char *name)
{
    for (int i = 0; i < form->n; i++)
        if (strcmp(form->fields[i].name, name) == 0)
            return &form->fields[i];
    return NULL;
}

static bool add(struct rb_form *form, const char *piece, size_t n, struct rb_arena *arena)
{
    const char *equals = memchr(piece, '=', n);
    size_t name_len = equals ? (size_t)(equals - piece) : n;
    const char *name = decode(piece, name_len, arena);
    const char *value = equals ? decode(equals + 1, n - name_len - 1, arena) : "";
    if (!name || !value || find(form, name))
        return false;
    form->fields[form->n++] = (struct rb_form_field){.name = name, .value = value};
    return true;
}

bool rb_form_decode(struct rb_form *form, const char *text, size_t n, struct rb_arena *arena, const char **out_bad)
{
    int n_pieces = 1;
    for (size_t i = 0; i < n; i++)
        n_pieces += text[i] == '&';
    struct rb_form_field *fields = rb_arena_array(arena, (size_t)(form->n + n_pieces), sizeof *fields);
    for (int i = 0; i < form->n; i++)
        fields[i] = form->fields[i];
    form->fields = fields;
    for (const char *at = text, *end = text + n; at < end;) {
        const char *stop = memchr(at, '&', (size_t)(end - at));
        size_t len = stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (len > 0 && !add(form, at, len, arena)) {
            *out_bad = rb_arena_strndup(arena, at, len);
            return false;
        }
        at += len + 1;
    }
    return true;
}

const char *rb_form_get(struct rb_form *form, const char *fmt, ...)
{
    char name[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    struct rb_form_field *field = find(form, name);
    if (!field)
        return NULL;
    field->asked = true;
    return field->value;
}

const char *rb_form_peek(const struct rb_form *form, const char *name)
{
    const struct rb_form_field *field = find(form, name);
    return field ? field->value : NULL;
}

bool rb_form_has_prefix(const struct rb_form *form, const char *fmt, ...)
{
    char prefix[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(prefix, sizeof prefix, fmt, ap);
    va_end(ap);
    for (int i = 0; i < form->n; i++)
        if (strncmp(form->fields[i].name, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

int rb_form_first(const struct rb_form *form, const char *prefix)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s.0", prefix);
    return find(form, whole) || rb_form_has_prefix(form, "%s.0.", prefix) ? 0 : 1;
}

int rb_form_list(struct rb_form *form, const char *prefix, struct rb_arena *arena, const char *const **out_values)
{
    const char **values = rb_arena_array(arena, (size_t)form->n + 1, sizeof *values);
    int n = 0, first = rb_form_first(form, prefix);
    while ((values[n] = rb_form_get(form, "%s.%d", prefix, first + n)))
        n++;
    *out_values = values;
    return n;
}

const char *rb_form_first_unasked(const struct rb_form *form)
{
    for (int i = 0; i < form->n; i++)
        if (!form->fields[i].asked)
            return form->fields[i].name;
    return NULL;
}
