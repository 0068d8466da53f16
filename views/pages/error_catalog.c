// The catalogue of errors for readers.
#include "views/pages/error_catalog.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

// 1112 means RB1112.
static const char *digits_of(const char *text)
{
    return strncasecmp(text, "RB", 2) == 0 ? text + 2 : text;
}

bool rb_is_error_number(const char *text)
{
    const char *digits = digits_of(text);
    return strlen(digits) == 4 && strspn(digits, "0123456789") == 4;
}

static int exit_code(const struct rb_err_entry *e)
{
    return rb_err_exit_code(&(struct rb_err){.code = e->code});
}

bool rb_error_explain_write(const char *number, struct rb_buf *out, struct rb_err *err)
{
    const struct rb_err_entry *e = rb_is_error_number(number) ? rb_err_entry(atoi(digits_of(number))) : NULL;
    if (!e)
        return rb_err_set(err, RB_E_OPERANDS,
                          "expected the number of an error, such as RB1112, got \"%.60s\"; docs/errors lists them",
                          number);
    const struct rb_err_area *area = rb_err_area(e->number);
    rb_buf_printf(out, "RB%04d %s (class %s, exit code %d)\n\n", e->number, e->name, rb_err_code_name(e->code),
                  exit_code(e));
    rb_buf_printf(out, "cause    %s\n", e->cause);
    rb_buf_printf(out, "remedy   %s\n", e->remedy);
    rb_buf_printf(out, "example  %s\n", e->example);
    rb_buf_printf(out, "area     %s: %s\n", area->title, area->scope);
    return true;
}

static void write_area(const struct rb_err_area *area, struct rb_buf *out)
{
    rb_buf_printf(out, "\n## RB%02dxx: %s\n\n%s\n", area->first / 100, area->title, area->scope);
}

static void write_row(const struct rb_err_entry *e, struct rb_buf *out)
{
    rb_buf_printf(out, "\n### <a id=\"rb%04d\"></a>RB%04d %s\n\n", e->number, e->number, e->name);
    rb_buf_printf(out, "%s **What to do:** %s\n\n", e->cause, e->remedy);
    rb_buf_printf(out, "    %s\n\n", e->example);
    rb_buf_printf(out, "Class `%s`, exit code %d.\n", rb_err_code_name(e->code), exit_code(e));
}

void rb_error_page_write(struct rb_buf *out)
{
    int n;
    const struct rb_err_entry *rows = rb_err_entries(&n);
    rb_buf_printf(out,
                  "# Errors\n\n"
                  "Every error ends with its number: `rbplan: job.yaml:4:3: scheduler.etta: unknown key; did you "
                  "mean \"eta\"? [RB1112]`.\n"
                  "`rbplan explain RB1112` and `rbrun explain RB1112` print these entries; with `--json` an error "
                  "carries `number` and `remedy`\n"
                  "([rb-error/1](../formats/json.md)). A number means one thing that a person does differently, and "
                  "is permanent: it is never given\n"
                  "another meaning. Programs act on the class and the exit code.\n\n"
                  "This page is written by `rbplan explain --all-errors`; a test compares the two.\n");
    const struct rb_err_area *area = NULL;
    for (int i = 0; i < n; i++) {
        if (rb_err_area(rows[i].number) != area)
            write_area(area = rb_err_area(rows[i].number), out);
        write_row(&rows[i], out);
    }
}
