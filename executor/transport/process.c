#include "executor/transport/process.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/errors/full.h"
#include "base/errors/log.h"
#include "executor/transport/loop_uv.h"
#include "providers/wire/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum { TAIL_SIZE = 600 };

struct rb_process {
    uv_process_t process;
    uv_pipe_t in, out, err;
    uv_write_t write;
    char *input;
    size_t input_len;
    int n_open; // handles not yet closed
    bool own_session, exited;
    int code;
    char tail[TAIL_SIZE];
    size_t tail_len;
    char read_buffer[65536]; // one at a time: callbacks consume it before the next read
    void (*output)(void *arg, const char *bytes, size_t n);
    rb_process_exit_fn *on_exit;
    void *arg;
};

struct rb_process_options rb_process_defaults(void)
{
    return (struct rb_process_options){.input_fd = -1, .output_fd = -1};
}

static void drop_input(struct rb_process *p)
{
    if (p->input) {
        explicit_bzero(p->input, p->input_len);
        free(p->input);
        p->input = NULL;
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct rb_process *p = handle->data;
    if (--p->n_open > 0)
        return;
    char tail[TAIL_SIZE + 1];
    rb_log_sanitise(p->tail, p->tail_len, tail, sizeof tail);
    rb_process_exit_fn *fn = p->on_exit;
    void *arg = p->arg;
    int code = p->code;
    drop_input(p);
    free(p);
    if (fn)
        fn(arg, code, tail);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct rb_process *p = handle->data;
    *buf = uv_buf_init(p->read_buffer, sizeof p->read_buffer);
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct rb_process *p = stream->data;
    if (n < 0)
        close_handle((uv_handle_t *)stream);
    else if (n > 0 && p->output)
        p->output(p->arg, buf->base, (size_t)n);
}

static void on_stderr(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct rb_process *p = stream->data;
    if (n < 0) {
        close_handle((uv_handle_t *)stream);
        return;
    }
    size_t len = (size_t)n;
    const char *bytes = buf->base;
    if (len >= TAIL_SIZE) {
        bytes += len - TAIL_SIZE;
        len = TAIL_SIZE;
    }
    if (p->tail_len + len > TAIL_SIZE) {
        size_t drop = p->tail_len + len - TAIL_SIZE;
        memmove(p->tail, p->tail + drop, p->tail_len - drop);
        p->tail_len -= drop;
    }
    memcpy(p->tail + p->tail_len, bytes, len);
    p->tail_len += len;
}

static void on_written(uv_write_t *write, int status)
{
    (void)status; // a child that closes its input early explains that by its exit code
    struct rb_process *p = write->data;
    drop_input(p);
    close_handle((uv_handle_t *)&p->in);
}

static void on_process_exit(uv_process_t *process, int64_t status, int signal)
{
    struct rb_process *p = process->data;
    p->exited = true;
    p->code = signal ? 128 + signal : (int)status;
    close_handle((uv_handle_t *)process);
    close_handle((uv_handle_t *)&p->in);
}

static void open_pipe(uv_loop_t *loop, struct rb_process *p, uv_pipe_t *pipe)
{
    int r = uv_pipe_init(loop, pipe, 0);
    assert(r == 0);
    pipe->data = p;
    p->n_open++;
}

static bool cannot_start(const char *program, int why, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf what = RB_BUF_INIT;
    rb_buf_printf(&what, "cannot start %s", program);
    if (rb_is_full(why))
        return rb_err_set_full(err, why, rb_buf_str(&what));
    return rb_err_set(err, RB_E_PROCESS_START, "%s: %s", rb_buf_str(&what), strerror(why));
}

// Not UV_IGNORE: that opens /dev/null in the child, where the soft limit of open files may be below our open files.
static uv_stdio_container_t borrowed(int fd)
{
    return (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = fd};
}

bool rb_process_spawn(const struct rb_loop *loop, const struct rb_process_options *o, struct rb_process **out,
                      struct rb_err *err)
{
    uv_loop_t *uv = rb_loop_uv_handle(loop);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return cannot_start(o->argv[0], errno, err);
    struct rb_process *p = rb_xcalloc(1, sizeof *p);
    p->output = o->output;
    p->on_exit = o->exited;
    p->own_session = o->own_session;
    p->arg = o->arg;
    open_pipe(uv, p, &p->in);
    open_pipe(uv, p, &p->out);
    open_pipe(uv, p, &p->err);

    bool pipe_in = o->input_fd < 0 && o->input_len > 0;
    bool pipe_out = o->output_fd < 0 && o->output;
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&p->in},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&p->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&p->err},
    };
    if (!pipe_in)
        stdio[0] = borrowed(o->input_fd >= 0 ? o->input_fd : null);
    if (!pipe_out)
        stdio[1] = borrowed(o->output_fd >= 0 ? o->output_fd : null);

    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    uv_process_options_t options = {
        .exit_cb = on_process_exit,
        .file = o->argv[0],
        .args = (char **)o->argv,
        .cwd = o->cwd,
        .env = o->env ? (char **)o->env : rb_child_tool_env(&arena),
        .stdio = stdio,
        .stdio_count = 3,
        .flags = o->own_session ? UV_PROCESS_DETACHED : 0,
    };
    p->process.data = p;
    p->n_open++;
    int r = uv_spawn(uv, &p->process, &options);
    close(null);
    if (r != 0) {
        cannot_start(o->argv[0], -r, err);
        p->on_exit = NULL;
        close_handle((uv_handle_t *)&p->process);
        close_handle((uv_handle_t *)&p->in);
        close_handle((uv_handle_t *)&p->out);
        close_handle((uv_handle_t *)&p->err);
        return false;
    }
    if (pipe_in) {
        p->input = rb_xcalloc(1, o->input_len);
        p->input_len = o->input_len;
        memcpy(p->input, o->input, o->input_len);
        uv_buf_t buf = uv_buf_init(p->input, (unsigned)o->input_len);
        p->write.data = p;
        if (uv_write(&p->write, (uv_stream_t *)&p->in, &buf, 1, on_written) != 0)
            close_handle((uv_handle_t *)&p->in);
    } else {
        close_handle((uv_handle_t *)&p->in);
    }
    if (!pipe_out || uv_read_start((uv_stream_t *)&p->out, on_alloc, on_output) != 0)
        close_handle((uv_handle_t *)&p->out);
    if (uv_read_start((uv_stream_t *)&p->err, on_alloc, on_stderr) != 0)
        close_handle((uv_handle_t *)&p->err);
    *out = p;
    return true;
}

void rb_process_kill(struct rb_process *p, int signal)
{
    if (!p->exited)
        uv_kill(p->own_session ? -p->process.pid : p->process.pid, signal);
}

void rb_process_abandon(struct rb_process *p)
{
    if (!p)
        return;
    p->on_exit = NULL;
    p->output = NULL;
    rb_process_kill(p, SIGKILL);
    close_handle((uv_handle_t *)&p->in);
    close_handle((uv_handle_t *)&p->out);
    close_handle((uv_handle_t *)&p->err);
}
