// The error value: filling it, prefixing it, printing it.
#include "base/errors/err.h"

#include "base/errors/exit_codes.h"
#include "base/document/json.h"
#include "base/text/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// The general number of a class is this much above it.
enum { GENERAL = 1000 };

static const struct {
    const char *name;
    enum rb_exit_code exit_code;
} codes[] = {
    [RB_ERR_NONE] = {"none", RB_CODE_OK},
    [RB_ERR_INVALID] = {"invalid", RB_CODE_INVALID},
    [RB_ERR_IO] = {"io", RB_CODE_FAILED},
    [RB_ERR_NOT_FOUND] = {"not_found", RB_CODE_FAILED},
    [RB_ERR_INFEASIBLE] = {"infeasible", RB_CODE_INFEASIBLE},
    [RB_ERR_STOPPED] = {"stopped", RB_CODE_STOPPED},
    [RB_ERR_DENIED] = {"denied", RB_CODE_DENIED},
    [RB_ERR_CAPACITY] = {"capacity", RB_CODE_CAPACITY},
    [RB_ERR_PRICE] = {"price", RB_CODE_PRICE},
    [RB_ERR_THROTTLED] = {"throttled", RB_CODE_FAILED},
    [RB_ERR_UNKNOWN_OUTCOME] = {"unknown_outcome", RB_CODE_FAILED},
    [RB_ERR_INCOMPLETE] = {"incomplete", RB_CODE_INCOMPLETE},
    [RB_ERR_BROKEN_SCRIPT] = {"broken_script", RB_CODE_BROKEN_SCRIPT},
};

// A character that snprintf cut in half at the end of its array is dropped whole.
static void drop_half_character(char *s, size_t size)
{
    const size_t len = strlen(s);
    size_t start = len;
    if (len + 1 < size)
        return;
    while (start > 0 && ((unsigned char)s[start - 1] & 0xC0) == 0x80)
        start--;
    if (start > 0 && (unsigned char)s[start - 1] >= 0xC0 && rb_utf8_char_len(s + start - 1, len - start + 1) == 0)
        s[start - 1] = '\0';
}

// An error is always one line: control characters from the user's file become '?'.
static void make_one_line(char *s, size_t size)
{
    drop_half_character(s, size);
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = '?';
}

// A class and its general number mean the same.
static int number_of(int number)
{
    return number > 0 && number < GENERAL ? GENERAL + number : number;
}

static void renumber(struct rb_err *err, int number)
{
    const struct rb_err_entry *entry = rb_err_entry(number_of(number));
    assert(entry || number == RB_ERR_NONE);
    err->number = entry ? entry->number : 0;
    err->code = entry ? entry->code : RB_ERR_NONE;
}

bool rb_err_set(struct rb_err *err, int number, const char *fmt, ...)
{
    if (!err)
        return false;
    // The arguments may point into *err (an error rephrased), so it is formatted aside first.
    struct rb_err fresh = {0};
    renumber(&fresh, number);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(fresh.message, sizeof fresh.message, fmt, ap);
    va_end(ap);
    make_one_line(fresh.message, sizeof fresh.message);
    *err = fresh;
    return false;
}

bool rb_err_set_at(struct rb_err *err, int number, struct rb_place place, const char *key, const char *fmt, ...)
{
    if (!err)
        return false;
    struct rb_err fresh = {.line = place.line, .column = place.column};
    renumber(&fresh, number);
    snprintf(fresh.file, sizeof fresh.file, "%s", place.file ? place.file : "");
    snprintf(fresh.key, sizeof fresh.key, "%s", key ? key : "");
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(fresh.message, sizeof fresh.message, fmt, ap);
    va_end(ap);
    make_one_line(fresh.file, sizeof fresh.file);
    make_one_line(fresh.key, sizeof fresh.key);
    make_one_line(fresh.message, sizeof fresh.message);
    *err = fresh;
    return false;
}

bool rb_err_prefix(struct rb_err *err, const char *fmt, ...)
{
    if (!err)
        return false;
    char prefix[sizeof err->message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(prefix, sizeof prefix, fmt, ap);
    va_end(ap);
    char joined[2 * sizeof err->message + 2];
    snprintf(joined, sizeof joined, "%s: %s", prefix, err->message);
    snprintf(err->message, sizeof err->message, "%.*s", (int)sizeof err->message - 1, joined);
    make_one_line(err->message, sizeof err->message);
    return false;
}

void rb_err_renumber(struct rb_err *err, int number)
{
    renumber(err, number);
}

int rb_err_number(const struct rb_err *err)
{
    return err->number > 0 ? err->number : number_of((int)err->code);
}

int rb_err_exit_code(const struct rb_err *err)
{
    assert((size_t)err->code < sizeof codes / sizeof codes[0]);
    return (int)codes[err->code].exit_code;
}

const char *rb_err_code_name(enum rb_err_code code)
{
    assert((size_t)code < sizeof codes / sizeof codes[0]);
    return codes[code].name;
}

static const char *number_text(const struct rb_err *err, char out[static 8])
{
    snprintf(out, 8, "RB%04d", rb_err_number(err));
    return out;
}

void rb_err_write_json(const struct rb_err *err, struct rb_buf *out)
{
    char number[8];
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-error/1");
    rb_json_kstring(&j, "code", rb_err_code_name(err->code));
    rb_json_kstring(&j, "number", number_text(err, number));
    rb_json_kstring(&j, "message", err->message);
    rb_json_kstring(&j, "remedy", rb_err_entry(rb_err_number(err))->remedy);
    rb_json_kstring(&j, "file", err->file[0] ? err->file : NULL);
    rb_json_key(&j, "line");
    if (err->line > 0)
        rb_json_int(&j, err->line);
    else
        rb_json_null(&j);
    rb_json_key(&j, "column");
    if (err->column > 0)
        rb_json_int(&j, err->column);
    else
        rb_json_null(&j);
    rb_json_kstring(&j, "key", err->key[0] ? err->key : NULL);
    rb_json_end_object(&j);
}

static void print_json(const struct rb_err *err)
{
    struct rb_buf out = RB_BUF_INIT;
    rb_err_write_json(err, &out);
    rb_buf_putc(&out, '\n');
    fwrite(out.data, 1, out.len, stdout);
    fflush(stdout);
    rb_buf_finish(&out);
}

// "--deadline" and "--set scheduler.eta" already contain the key.
static bool is_flag_of_key(const char *file, const char *key)
{
    const size_t n_file = strlen(file), n_key = strlen(key);
    return strncmp(file, "--", 2) == 0 && n_file > n_key && strcmp(file + n_file - n_key, key) == 0 &&
           strchr("- ", file[n_file - n_key - 1]) != NULL;
}

void rb_err_write(const struct rb_err *err, struct rb_buf *out)
{
    char number[8];
    if (err->file[0]) {
        rb_buf_puts(out, err->file);
        if (err->line > 0)
            rb_buf_printf(out, ":%d", err->line);
        if (err->line > 0 && err->column > 0)
            rb_buf_printf(out, ":%d", err->column);
        rb_buf_puts(out, ": ");
    }
    if (err->key[0] && !is_flag_of_key(err->file, err->key))
        rb_buf_printf(out, "%s: ", err->key);
    rb_buf_printf(out, "%s [%s]", err->message, number_text(err, number));
}

void rb_err_print(const struct rb_err *err, const char *tool, bool json)
{
    if (json) {
        print_json(err);
        return;
    }
    struct rb_buf line = RB_BUF_INIT;
    if (tool)
        rb_buf_printf(&line, "%s: ", tool);
    rb_err_write(err, &line);
    rb_buf_putc(&line, '\n');
    fwrite(line.data, 1, line.len, stderr);
    rb_buf_finish(&line);
}
