#include "views/tables/job_check.h"

#include "base/document/json.h"
#include "base/errors/log.h"

#include <stdio.h>

static void write_warning(const struct rb_err *w, struct rb_json *j)
{
    char number[8];
    snprintf(number, sizeof number, "RB%04d", rb_err_number(w));
    rb_json_put(j, "{number: %s message: %s", number, w->message);
    rb_json_kstring(j, "file", w->file[0] ? w->file : NULL);
    rb_json_put(j, "line: %d|null column: %d|null", w->line > 0 ? w->line : -1, w->column > 0 ? w->column : -1);
    rb_json_kstring(j, "key", w->key[0] ? w->key : NULL);
    rb_json_end_object(j);
}

void rb_job_check_write_json(const char *path, const char *name, const struct rb_job_warnings *warnings,
                             struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{format: 'rb-check/1' path: %s name: %s warnings: [", path, name);
    for (int i = 0; i < warnings->n; i++)
        write_warning(&warnings->items[i], &j);
    rb_json_put(&j, "]}");
    rb_buf_putc(out, '\n');
}

void rb_job_check_write(const char *path, const char *name, const struct rb_job_warnings *warnings, struct rb_buf *out)
{
    (void)name;
    for (int i = 0; i < warnings->n; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
        rb_err_write(&warnings->items[i], &line);
        rb_warn("%s", rb_buf_str(&line));
    }
    if (warnings->n > 0)
        rb_buf_printf(out, "%s: ok, with %d warning%s\n", path, warnings->n, warnings->n == 1 ? "" : "s");
    else
        rb_buf_printf(out, "%s: ok\n", path);
}
