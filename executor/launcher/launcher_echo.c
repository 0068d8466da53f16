// An echo: the node of rank 0 puts a word into the trial's output, and the word comes back behind all that the trial had
// printed. So a silence until then is the trial's, and not that of a connection or of a network that is gone.
#include "executor/launcher/launcher_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void ask(void *arg);

static void report_echo(struct rb_launcher_task *t)
{
    const struct rb_launcher_events *events = &t->l->config.events;
    t->echo.word[0] = '\0';
    if (events->echoed)
        events->echoed(events->ctx, t->trial, t->attempt);
}

static void on_asked(void *arg, int code, const char *stderr_tail)
{
    struct rb_launcher_task *t = arg;
    const struct rb_loop *loop = t->l->config.loop;
    t->echo.process = NULL;
    if (rb_launcher_held_up(t->ranks[0].node, code, stderr_tail, t->trial, &t->echo.timer, ask, t))
        return;
    // The process that follows the node notices and reports that it cannot be reached.
    if (code == 255 && t->echo.tries < t->l->config.reconnects)
        t->echo.timer = loop->timer_start(loop->ctx, rb_launcher_backoff_us(t->echo.tries++), ask, t);
    else if (code != 0 && code != 255) // it answers, and has no room for the word
        report_echo(t);
}

static void ask(void *arg)
{
    struct rb_launcher_task *t = arg;
    struct rb_launcher_node *node = t->ranks[0].node;
    char trial[16], attempt[16];
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    struct rb_process_options o = rb_process_defaults();
    struct rb_err err = {0};
    t->echo.timer = 0;
    snprintf(trial, sizeof trial, "%d", t->trial);
    snprintf(attempt, sizeof attempt, "%d", t->attempt);
    rb_launcher_node_command(node, &command,
                             (const char *[]){"echo", trial, attempt, t->nonce, t->echo.word, NULL});
    o.exited = on_asked;
    o.arg = t;
    if (!rb_launcher_remote(t->l, node, command.data, &o, &t->echo.process, &err) &&
        !rb_launcher_hold_up(t->l, &err, t->trial, &t->echo.timer, ask, t))
        on_asked(t, 255, "");
}

void rb_launcher_stop_echo(struct rb_launcher_task *t)
{
    const struct rb_loop *loop = t->l->config.loop;
    rb_process_abandon(t->echo.process);
    loop->timer_cancel(loop->ctx, t->echo.timer);
    t->echo = (struct rb_echo){0};
}

void rb_launcher_echo(struct rb_launcher *base, int trial, int attempt)
{
    struct rb_launcher_task *t = rb_launcher_find_task((struct rb_launcher_impl *)base, trial, attempt);
    if (!t || t->killing || t->exited || t->breaking || t->ranks[0].ended || !t->ranks[0].node)
        return;
    const struct rb_loop *loop = t->l->config.loop;
    rb_launcher_stop_echo(t);
    // Earlier words come again after a reconnect, those of a controller before this one among them.
    snprintf(t->echo.word, sizeof t->echo.word, "%" PRId64, loop->unix_us(loop->ctx));
    ask(t);
}

void rb_launcher_take_echo(const struct rb_rank *r, const char *word)
{
    struct rb_launcher_task *t = r->task;
    if (r->index == 0 && t->echo.word[0] && strcmp(word, t->echo.word) == 0)
        report_echo(t);
}
