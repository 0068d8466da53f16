// Asks a task to checkpoint and give way: the file that its contract names is created beside it on every node. Or has it
// ended once it has saved, by the script on the node of rank 0.
#include "executor/launcher/launcher_private.h"

#include <stdio.h>

static void ask_rank(void *arg);

static void on_asked(void *arg, int code, const char *stderr_tail)
{
    struct rb_rank *r = arg;
    const struct rb_loop *loop = r->task->l->config.loop;
    (void)stderr_tail;
    r->asking = NULL;
    if (r->ask_again) {
        r->ask_again = false;
        ask_rank(r);
        return;
    }
    // The process that follows a node notices and reports that it cannot be reached.
    if (code != 0 && !r->ended && r->ask_tries < r->task->l->config.reconnects)
        r->ask_timer = loop->timer_start(loop->ctx, rb_launcher_backoff_us(r->ask_tries++), ask_rank, r);
}

static void ask_rank(void *arg)
{
    struct rb_rank *r = arg;
    const struct rb_launcher_task *t = r->task;
    char trial[16], attempt[16];
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    struct rb_process_options o = rb_process_defaults();
    r->ask_timer = 0;
    snprintf(trial, sizeof trial, "%d", t->trial);
    snprintf(attempt, sizeof attempt, "%d", t->attempt);
    if (t->stop_code >= 0) {
        char code[16], rest[16];
        snprintf(code, sizeof code, "%d", t->stop_code);
        snprintf(rest, sizeof rest, "%.2f", t->stop_rest_s);
        rb_launcher_node_command(r->node, &command, (const char *[]){"stop", trial, attempt, code, rest, NULL});
    } else {
        rb_launcher_node_command(r->node, &command, (const char *[]){"yield", trial, attempt, t->yield_why, NULL});
    }
    o.exited = on_asked;
    o.arg = r;
    struct rb_err err = {0};
    if (!rb_launcher_remote(t->l, r->node, command.data, &o, &r->asking, &err) &&
        !rb_launcher_hold_up(t->l, &err, t->trial, &r->ask_timer, ask_rank, r))
        on_asked(r, RB_EXIT_VANISHED, "");
}

void rb_launcher_stop_asking(struct rb_rank *r)
{
    const struct rb_loop *loop = r->task->l->config.loop;
    rb_process_abandon(r->asking);
    r->asking = NULL;
    loop->timer_cancel(loop->ctx, r->ask_timer);
    r->ask_timer = 0;
}

void rb_launcher_yield(struct rb_launcher *base, int trial, int attempt, const char *why)
{
    struct rb_launcher_task *t = rb_launcher_find_task((struct rb_launcher_impl *)base, trial, attempt);
    if (!t || t->killing || t->exited || t->breaking)
        return;
    if (!t->yield_why)
        t->yield_why = rb_xstrdup(why);
    for (int i = 0; i < t->n_ranks; i++) {
        struct rb_rank *r = &t->ranks[i];
        if (r->node && !r->ended && !r->asking && !r->ask_timer)
            ask_rank(r);
    }
}

void rb_launcher_stop(struct rb_launcher *base, int trial, int attempt, int exit_code, double rest_s)
{
    struct rb_launcher_task *t = rb_launcher_find_task((struct rb_launcher_impl *)base, trial, attempt);
    if (!t || t->killing || t->exited || t->breaking || t->ranks[0].ended || !t->ranks[0].node)
        return;
    struct rb_rank *r = &t->ranks[0];
    if (t->stop_code != 0)
        t->stop_code = exit_code;
    t->stop_rest_s = rest_s;
    r->ask_again = r->asking != NULL;
    if (!r->asking && !r->ask_timer)
        ask_rank(r);
}
