#include "executor/run/ending.h"

#include "base/arena.h"
#include "base/errors/log.h"
#include "base/file.h"
#include "base/text/number.h"

#include <string.h>
#include <unistd.h>

enum { MAX_BYTES = 4096 };

static void path_of(const char *run_dir, struct rb_buf *out)
{
    rb_buf_printf(out, "%s/ended", run_dir);
}

void rb_run_ending_clear(const char *run_dir)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    path_of(run_dir, &path);
    unlink(rb_buf_str(&path));
}

void rb_run_ending_keep(const char *run_dir, int code, const struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, text = RB_BUF_INIT;
    struct rb_err why;
    path_of(run_dir, &path);
    rb_buf_printf(&text, "%d\n", code);
    if (err)
        rb_err_write(err, &text);
    if (!rb_write_file(rb_buf_str(&path), rb_buf_str(&text), text.len, &why))
        rb_warn("`rbrun attach` will not know how this run ended: %s", why.message);
}

bool rb_run_ending_read(const char *run_dir, int *out_code, struct rb_buf *out_error)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *text = NULL;
    size_t n;
    int64_t code;
    path_of(run_dir, &path);
    if (!rb_read_file(rb_buf_str(&path), MAX_BYTES, &text, &n, NULL))
        return false;
    char *line = strchr(text, '\n');
    if (!line)
        return false;
    *line++ = '\0';
    if (!rb_parse_int(text, &code) || code < 0 || code > 255)
        return false;
    *out_code = (int)code;
    rb_buf_puts(out_error, line);
    return true;
}
