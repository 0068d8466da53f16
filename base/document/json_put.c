// Reads a template from left to right; json.c writes.
#include "base/document/json.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct rb_json *json;
    const char *at;
    va_list args;
};

static bool take(struct reader *r, const char *what)
{
    const size_t n = strlen(what);
    if (strncmp(r->at, what, n) != 0)
        return false;
    r->at += n;
    return true;
}

static void append_conversion(struct reader *r, struct rb_buf *out)
{
    if (take(r, "%s")) {
        rb_buf_puts(out, va_arg(r->args, const char *));
    } else if (take(r, "%.*s")) {
        const int n = va_arg(r->args, int);
        rb_buf_printf(out, "%.*s", n, va_arg(r->args, const char *));
    } else if (take(r, "%d")) {
        rb_buf_printf(out, "%d", va_arg(r->args, int));
    } else if (take(r, "%jd")) {
        rb_buf_printf(out, "%jd", va_arg(r->args, intmax_t));
    } else if (take(r, "%ju")) {
        rb_buf_printf(out, "%ju", va_arg(r->args, uintmax_t));
    } else {
        assert(!"a conversion that templates do not have");
        abort();
    }
}

static void read_text(struct reader *r, struct rb_buf *out)
{
    for (r->at++; *r->at != '\'';) {
        assert(*r->at);
        if (*r->at == '%')
            append_conversion(r, out);
        else
            rb_buf_putc(out, *r->at++);
    }
    r->at++;
}

static void put_key(struct reader *r, const char *key)
{
    r->at++; // the colon
    r->at += strspn(r->at, " ");
    if (!take(r, "%s")) {
        rb_json_key(r->json, key);
        return;
    }
    const char *value = va_arg(r->args, const char *);
    const bool or_null = take(r, "|null");
    if (value || or_null)
        rb_json_kstring(r->json, key, value);
}

static void put_text(struct reader *r)
{
    struct rb_buf text = RB_BUF_INIT;
    read_text(r, &text);
    if (*r->at == ':')
        put_key(r, rb_buf_str(&text));
    else
        rb_json_string(r->json, rb_buf_str(&text));
    rb_buf_finish(&text);
}

static void put_int(struct reader *r, int64_t value)
{
    if (take(r, "|null") && value < 0)
        rb_json_null(r->json);
    else
        rb_json_int(r->json, value);
}

static void put_double(struct reader *r, double value)
{
    if (take(r, "|null") && !isfinite(value))
        rb_json_null(r->json);
    else
        rb_json_double(r->json, value);
}

static void put_conversion(struct reader *r)
{
    if (take(r, "%s")) {
        const char *text = va_arg(r->args, const char *);
        if (*r->at == ':')
            put_key(r, text);
        else if (take(r, "|null") || text)
            rb_json_string(r->json, text);
    } else if (take(r, "%i")) {
        rb_json_bool(r->json, va_arg(r->args, int));
    } else if (take(r, "%d")) {
        put_int(r, va_arg(r->args, int));
    } else if (take(r, "%jd")) {
        put_int(r, va_arg(r->args, intmax_t));
    } else {
        const bool is_double = take(r, "%g");
        assert(is_double);
        (void)is_double;
        put_double(r, va_arg(r->args, double));
    }
}

static void put_word(struct reader *r)
{
    char word[64];
    const size_t n = strcspn(r->at, ":{}[], \n");
    assert(n > 0 && n < sizeof word);
    memcpy(word, r->at, n);
    word[n] = '\0';
    r->at += n;
    if (*r->at == ':')
        put_key(r, word);
    else if (strcmp(word, "null") == 0)
        rb_json_null(r->json);
    else if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        rb_json_bool(r->json, *word == 't');
    else
        rb_json_int(r->json, strtoll(word, NULL, 10));
}

static void put_next(struct reader *r)
{
    switch (*r->at) {
    case '{':
        rb_json_begin_object(r->json);
        break;
    case '}':
        rb_json_end_object(r->json);
        break;
    case '[':
        rb_json_begin_array(r->json);
        break;
    case ']':
        rb_json_end_array(r->json);
        break;
    case ' ':
    case ',':
        break;
    case '\'':
        put_text(r);
        return;
    case '%':
        put_conversion(r);
        return;
    default:
        put_word(r);
        return;
    }
    r->at++;
}

void rb_json_put(struct rb_json *j, const char *template, ...)
{
    struct reader r = {.json = j, .at = template};
    va_start(r.args, template);
    while (*r.at)
        put_next(&r);
    va_end(r.args);
}
