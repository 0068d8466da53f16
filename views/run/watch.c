#include "views/run/watch.h"

#include "executor/transport/loop_uv.h"
#include "views/live/terminal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum {
    REFRESH_US = 1000000,
    ENDING_LOOKS = 10, // its job is over and its process cleans up: one block says how it ended, unless that takes longer
};

#define FOOTER "q leaves; the run continues"

// ---- the terminal's original state

// For the handler of a crash, which can use nothing else; set while we own the screen.
static struct termios as_it_was;

static void give_back(void)
{
    static const char leave[] = RB_TERMINAL_LEAVE;
    ssize_t n = write(STDOUT_FILENO, leave, sizeof leave - 1);
    (void)n; // there is no remedy
    tcsetattr(STDIN_FILENO, TCSANOW, &as_it_was);
}

static void crash(int number)
{
    give_back();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_crash(void (*handler)(int))
{
    static const int numbers[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        signal(numbers[i], handler);
}

// Keys arrive one by one and are not echoed; ^C stays a signal.
static bool take_over(struct rb_err *err)
{
    struct termios keys;
    if (tcgetattr(STDIN_FILENO, &as_it_was) != 0)
        return rb_err_set(err, RB_E_TERMINAL, "the settings of the terminal cannot be read");
    keys = as_it_was;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    on_crash(crash);
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    fputs(RB_TERMINAL_ENTER, stdout);
    return true;
}

static void leave(void)
{
    fflush(stdout);
    give_back();
    on_crash(SIG_DFL);
}

// ---- the screen

struct watch {
    struct rb_following *f;
    struct rb_loop_uv *uv;
    const struct rb_loop *loop;
    struct rb_err err;
};

static void draw(void *arg)
{
    struct watch *w = arg;
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT, out = RB_BUF_INIT;
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    const int height = rb_terminal_height(STDOUT_FILENO);
    rb_run_screen_write(&w->f->screen, &style, height, FOOTER, &text);
    rb_terminal_paint(rb_buf_str(&text), height, &out);
    fwrite(out.data, 1, out.len, stdout);
    fflush(stdout);
}

static void stop(void *arg)
{
    struct watch *w = arg;
    rb_loop_uv_stop(w->uv);
}

// ^Z: the shell gets its terminal back; `fg` brings the screen back.
static void suspend(void *arg)
{
    struct watch *w = arg;
    leave();
    raise(SIGSTOP);
    if (take_over(&w->err))
        draw(w);
    else
        stop(w);
}

static void refresh(void *arg)
{
    struct watch *w = arg;
    w->loop->timer_start(w->loop->ctx, REFRESH_US, refresh, w);
    if (!rb_following_look(w->f, false, &w->err) || rb_following_is_over(w->f)) {
        stop(w);
        return;
    }
    draw(w);
}

static void key(void *arg, int fd, int ready)
{
    struct watch *w = arg;
    char keys[64];
    const ssize_t n = read(fd, keys, sizeof keys);
    (void)ready;
    if (n <= 0 || memchr(keys, 'q', (size_t)n) || memchr(keys, 'Q', (size_t)n))
        stop(w);
}

static void run(struct watch *w)
{
    w->uv = rb_loop_uv_create();
    w->loop = rb_loop_uv_loop(w->uv);
    rb_loop_uv_on_interrupt(w->uv, stop, w);
    rb_loop_uv_on_signal(w->uv, SIGTSTP, suspend, w);
    rb_loop_uv_on_signal(w->uv, SIGWINCH, draw, w);
    w->loop->watch(w->loop->ctx, STDIN_FILENO, RB_LOOP_READ, key, w);
    draw(w);
    refresh(w);
    if (!w->err.code && !rb_following_is_over(w->f))
        rb_loop_uv_run(w->uv);
    rb_loop_uv_destroy(w->uv);
}

static bool print_summary(struct rb_following *f, bool with_gap, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    rb_run_screen_summary(&f->screen, &style, &out);
    rb_buf_puts(&out, with_gap ? "\n" : "");
    return rb_print(&out, err);
}

bool rb_watch_screen(struct rb_following *f, struct rb_err *err)
{
    struct watch w = {.f = f};
    if (!rb_following_look(f, false, err))
        return false;
    if (!rb_following_is_over(f)) {
        if (!take_over(err))
            return false;
        run(&w);
        leave();
    }
    if (w.err.code) {
        *err = w.err;
        return false;
    }
    return print_summary(f, false, err);
}

// ---- lines

static bool print_json(struct rb_following *f, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &out, false);
    rb_run_screen_json(&f->screen, &j);
    rb_buf_putc(&out, '\n');
    return rb_print(&out, err);
}

bool rb_watch_lines(struct rb_following *f, bool json, struct rb_err *err)
{
    int64_t shown = -1;
    int n_ending = 0;
    for (;; usleep(REFRESH_US)) {
        if (!rb_following_look(f, true, err))
            return false;
        const bool over = rb_following_is_over(f);
        n_ending = f->over_us >= 0 ? n_ending + 1 : 0;
        const bool ends_soon = n_ending > 0 && n_ending <= ENDING_LOOKS;
        if (!over && (f->news == shown || ends_soon))
            continue;
        if (!(json ? print_json(f, err) : print_summary(f, !over, err)))
            return false;
        if (over)
            return true;
        shown = f->news;
    }
}
