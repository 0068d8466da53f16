// Tasks: start a trial on its slots, follow every rank's output to its exit line, kill the gang.
#include "executor/launcher/launcher_private.h"

#include "base/errors/full.h"
#include "base/limits.h"
#include "base/errors/log.h"
#include "profiles/script/shell_text.h"
#include "providers/wire/digest.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void follow_rank(void *arg);

static void close_rank(struct rb_rank *r)
{
    const struct rb_loop *loop = r->task->l->config.loop;
    rb_process_abandon(r->process);
    r->process = NULL;
    loop->timer_cancel(loop->ctx, r->timer);
    r->timer = 0;
    rb_launcher_stop_asking(r);
    if (r->index == 0) {
        rb_launcher_stop_saving(r->task);
        rb_launcher_stop_echo(r->task);
    }
    if (r->log_fd >= 0)
        close(r->log_fd);
    r->log_fd = -1;
}

static void free_task(struct rb_launcher_task *task)
{
    for (int i = 0; i < task->n_ranks; i++)
        rb_buf_finish(&task->ranks[i].line);
    for (int i = 0; i < task->n_env; i++) {
        free((char *)task->env[i].key);
        explicit_bzero((char *)task->env[i].value, strlen(task->env[i].value)); // secrets pass through here
        free((char *)task->env[i].value);
    }
    free(task->env);
    free(task->ranks);
    free(task->gpus);
    free(task->command);
    free(task->words);
    free(task->resume_from);
    free(task->uri);
    free(task->yield_why);
    rb_buf_finish(&task->announced);
    rb_buf_finish(&task->discards);
    free(task);
}

void rb_launcher_free_dropped(void *arg)
{
    struct rb_launcher_impl *l = arg;
    l->free_timer = 0;
    while (l->graves) {
        struct rb_launcher_task *t = l->graves;
        l->graves = t->next;
        free_task(t);
    }
}

void rb_launcher_drop_task(struct rb_launcher_task *task)
{
    struct rb_launcher_impl *l = task->l;
    for (int i = 0; i < task->n_ranks; i++)
        close_rank(&task->ranks[i]);
    task->dead = true;
    task->next = l->graves;
    l->graves = task;
    if (!l->free_timer)
        l->free_timer = l->config.loop->timer_start(l->config.loop->ctx, 0, rb_launcher_free_dropped, l);
}

static void unlink_task(struct rb_launcher_task *task)
{
    struct rb_launcher_task **p = &task->l->tasks;
    while (*p != task)
        p = &(*p)->next;
    *p = task->next;
}

// --- output ---------------------------------------------------------------------------------------------------------

// False: this machine is full. Any other reason only costs the log.
static bool open_log(struct rb_rank *r, struct rb_err *err)
{
    struct rb_launcher_task *t = r->task;
    if (r->log_fd >= 0)
        close(r->log_fd);
    char path[4096];
    snprintf(path, sizeof path, "%s/logs", t->l->config.run_dir);
    mkdir(path, 0700);
    int n = snprintf(path, sizeof path, "%s/logs/trial-%04d.stage-%d.attempt-%d", t->l->config.run_dir, t->trial,
                     t->stage, t->attempt);
    snprintf(path + n, sizeof path - (size_t)n, r->index ? ".rank-%d.log" : ".log", r->index);
    r->log_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    r->logged_bytes = 0;
    return r->log_fd >= 0 || !rb_is_full(errno) || rb_err_set_full(err, errno, path);
}

// end: the byte that ended it.
static void log_line(struct rb_rank *r, const char *line, size_t n, char end)
{
    if (r->log_fd < 0 || r->logged_bytes > RB_LOG_LIMIT_BYTES)
        return;
    // After a reconnect every line is reported again from the first, so the file starts again too: now, and not when it is
    // opened, because what a lost node has said is never heard again.
    if (r->logged_bytes == 0 && ftruncate(r->log_fd, 0) < 0)
        rb_trace("launcher", "trial %d attempt %d: its log keeps what it had: %s", r->task->trial, r->task->attempt, strerror(errno));
    r->logged_bytes += n + 1;
    if (r->logged_bytes > RB_LOG_LIMIT_BYTES) {
        line = "[rubberband: the log of this attempt reached its limit; the rest was dropped]";
        n = strlen(line);
    }
    if (write(r->log_fd, line, n) < 0 || write(r->log_fd, &end, 1) < 0) { // a full disk must not stop the run
        close(r->log_fd);
        r->log_fd = -1;
    }
}

static void rank_ended(struct rb_rank *r, int code);

static void on_line(struct rb_rank *r, const char *line, size_t n, char end)
{
    struct rb_launcher_task *t = r->task;
    char marker[64];
    int m = snprintf(marker, sizeof marker, "@rb-exit %s ", t->nonce);
    if (n > (size_t)m && n < (size_t)m + 8 && memcmp(line, marker, (size_t)m) == 0) {
        rank_ended(r, (int)strtol(line + m, NULL, 10));
        return;
    }
    log_line(r, line, n, end);
    if (r->index == 0 && n > 0)
        t->l->config.events.line(t->l->config.events.ctx, t->trial, t->attempt, line, n);
}

// The first of the bytes that end a frame: progress bars end theirs with a carriage return. NULL: there is none.
static const char *end_of_frame(const char *bytes, size_t n)
{
    const char *feed = memchr(bytes, '\n', n), *back = memchr(bytes, '\r', feed ? (size_t)(feed - bytes) : n);
    return back ? back : feed;
}

// What a file's bytes stand behind is the beginning of a line of the script, which goes on.
static void end_frame(struct rb_rank *r, char end)
{
    const size_t rest = end == '\n' ? rb_launcher_take_file(r, rb_buf_str(&r->line), r->line.len) : r->line.len;
    if (rest < r->line.len) {
        r->line.len = rest;
        return;
    }
    on_line(r, rb_buf_str(&r->line), r->line.len, end);
    rb_buf_clear(&r->line);
    r->line_cut = false;
}

static void on_output(void *arg, const char *bytes, size_t n)
{
    struct rb_rank *r = arg;
    if (r->unheard)
        r->tries = 0;
    r->unheard = false;
    r->heard = true;
    while (n > 0 && !r->ended && !r->task->dead && !r->task->killing) {
        const char *end = end_of_frame(bytes, n);
        size_t part = end ? (size_t)(end - bytes) : n;
        size_t room = RB_LIMIT_METRIC_LINE - r->line.len;
        if (part > room)
            r->line_cut = true;
        rb_buf_append(&r->line, bytes, part < room ? part : room);
        if (end) {
            end_frame(r, *end);
            part++;
        }
        bytes += part;
        n -= part;
    }
}

// --- the gang
// ---------------------------------------------------------------------------------------------------------

static void end_task_if_done(struct rb_launcher_task *t)
{
    for (int i = 0; i < t->n_ranks; i++)
        if (!t->ranks[i].ended)
            return;
    if (t->exited || t->killing)
        return;
    t->exited = true;
    t->l->config.events.exited(t->l->config.events.ctx, t->trial, t->attempt, t->first_failure);
}

static void on_gang_killed(void *arg, int code, const char *stderr_tail)
{
    (void)code, (void)stderr_tail;
    struct rb_rank *r = arg;
    r->process = NULL;
    if (!r->ended) {
        r->ended = true;
        r->exit_code = RB_EXIT_VANISHED;
        end_task_if_done(r->task);
    }
}

static bool spawn_kill(struct rb_rank *r, rb_process_exit_fn *exited, struct rb_err *err)
{
    struct rb_launcher_task *t = r->task;
    char trial[16], attempt[16];
    snprintf(trial, sizeof trial, "%d", t->trial);
    snprintf(attempt, sizeof attempt, "%d", t->attempt);
    struct rb_buf command RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    rb_launcher_node_command(r->node, &command, (const char *[]){"kill", trial, attempt, NULL});
    struct rb_process_options o = rb_process_defaults();
    o.exited = exited;
    o.arg = r;
    return rb_launcher_remote(t->l, r->node, command.data, &o, &r->process, err);
}

static void break_rank(void *arg)
{
    struct rb_rank *r = arg;
    struct rb_err err = {0};
    r->timer = 0;
    if (spawn_kill(r, on_gang_killed, &err) ||
        rb_launcher_hold_up(r->task->l, &err, r->task->trial, &r->timer, break_rank, r))
        return;
    r->ended = true;
    end_task_if_done(r->task);
}

static void break_gang(struct rb_launcher_task *t)
{
    t->breaking = true;
    for (int i = 0; i < t->n_ranks; i++) {
        struct rb_rank *r = &t->ranks[i];
        if (r->ended)
            continue;
        close_rank(r);
        break_rank(r);
    }
}

void rb_launcher_end(struct rb_launcher *base, int trial, int attempt)
{
    struct rb_launcher_task *t = rb_launcher_find_task((struct rb_launcher_impl *)base, trial, attempt);
    if (!t || t->killing || t->exited || t->breaking)
        return;
    t->first_failure = t->first_failure ? t->first_failure : RB_EXIT_VANISHED;
    break_gang(t);
    end_task_if_done(t);
}

static void rank_ended(struct rb_rank *r, int code)
{
    struct rb_launcher_task *t = r->task;
    r->ended = true;
    r->exit_code = code;
    if (t->stop_code >= 0 && r->index > 0) { // it lost rank 0, which is being ended
        end_task_if_done(t);
        return;
    }
    if (code != 0 && (t->first_failure == 0 || t->first_failure == RB_EXIT_YIELDED))
        t->first_failure = code;
    // The follower on the node ends by itself once its supervisor is gone; nothing more is wanted from it. A gang gives
    // way together, and its checkpoint is the first rank's: the others wait for that one.
    if ((code != 0 || t->stop_code >= 0) && !t->breaking && (code != RB_EXIT_YIELDED || r->index == 0))
        break_gang(t);
    end_task_if_done(t);
}

// The node's own processes no longer end what they started: we do, before the exit is reported.
static void vanished(struct rb_launcher_task *t)
{
    if (t->first_failure == 0 || t->first_failure == RB_EXIT_YIELDED)
        t->first_failure = RB_EXIT_VANISHED;
    break_gang(t);
    end_task_if_done(t);
}

static void on_follow_exit(void *arg, int code, const char *stderr_tail)
{
    struct rb_rank *r = arg;
    struct rb_launcher_task *t = r->task;
    r->process = NULL;
    if (r->ended || t->breaking || t->killing || t->dead)
        return;
    if (rb_launcher_held_up(r->node, code, stderr_tail, t->trial, &r->timer, follow_rank, r))
        return;
    const struct rb_loop *loop = t->l->config.loop;
    if (code != 0 && code != 255 && !r->heard && rb_launcher_report_no_room(r, stderr_tail))
        return;
    r->unheard = code == 255;
    if (code != 255 && r->tries >= 2) { // the follower ended twice without an exit line: the supervisor was killed
        rb_trace("launcher", "trial %d attempt %d: no exit line (%s)", t->trial, t->attempt, stderr_tail);
        vanished(t);
    } else if (r->tries >= t->l->config.reconnects) {
        rb_launcher_report_unreachable(r, stderr_tail);
    } else {
        r->timer = loop->timer_start(loop->ctx, rb_launcher_backoff_us(r->tries++), follow_rank, r);
    }
}

static void add_env(struct rb_buf *out, const char *name, const char *value)
{
    rb_launcher_env_text(&(struct rb_key_value){name, value}, 1, out);
}

// An unquoted $RB_ARGS of the command becomes the parameters, each a word of its own: the shell would split the
// variable's text at every blank and keep its quotes.
static void add_command(const struct rb_launcher_task *t, struct rb_buf *out)
{
    struct rb_buf command RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    const char *args = "";
    for (int i = 0; i < t->n_env; i++)
        if (strcmp(t->env[i].key, "RB_ARGS") == 0)
            args = t->env[i].value;
    rb_shell_replace(t->command, "RB_ARGS", args, &command);
    rb_buf_putc(out, '\n');
    rb_launcher_command_text(rb_buf_str(&command), out);
}

// The variables that differ from rank to rank, and those of the node script itself.
static void rank_env(const struct rb_rank *r, struct rb_buf *out)
{
    const struct rb_launcher_task *t = r->task;
    struct rb_buf devices RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    char number[32];
    int n_gpus = 0;
    for (int g = 0; g < RB_LIMIT_GPUS_PER_NODE && t->l->config.job->trial.cpus == 0; g++)
        if (t->gpus[r->index] >> g & 1)
            rb_buf_printf(&devices, n_gpus++ ? ",%d" : "%d", g);
    rb_launcher_env_text(t->env, t->n_env, out);
    add_env(out, "CUDA_VISIBLE_DEVICES", rb_buf_str(&devices));
    snprintf(number, sizeof number, "%d", r->index);
    add_env(out, "RB_NODE_RANK", number);
    snprintf(number, sizeof number, "%d", n_gpus);
    add_env(out, "RB_GPUS_PER_NODE", number);
    rb_buf_printf(out, "rb_resume=%d\n", t->resume_from != NULL);
    rb_buf_puts(out, t->on_spot ? "rb_spot=1\n" : "");
    rb_launcher_data_words(t->l->config.job, out);
    rb_buf_puts(out, "rb_checkpoint_dir=");
    char dir[4096];
    rb_launcher_checkpoint_dir(t->l, dir, sizeof dir);
    rb_buf_shell_quote(out, dir);
    rb_buf_putc(out, '\n');
    rb_buf_puts(out, t->words ? t->words : "");
    add_command(t, out);
}

static void follow_rank(void *arg)
{
    struct rb_rank *r = arg;
    struct rb_launcher_task *t = r->task;
    r->timer = 0;
    struct rb_err err = {0};
    rb_buf_clear(&r->line);
    if (r->heard && r->index == 0 && t->l->config.events.again)
        t->l->config.events.again(t->l->config.events.ctx, t->trial, t->attempt);
    if (!open_log(r, &err)) {
        rb_launcher_hold_up(t->l, &err, t->trial, &r->timer, follow_rank, r);
        return;
    }
    char trial[16], attempt[16];
    snprintf(trial, sizeof trial, "%d", t->trial);
    snprintf(attempt, sizeof attempt, "%d", t->attempt);
    struct rb_buf command RB_AUTO(rb_buf_finish) = RB_BUF_INIT, input RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    rb_launcher_node_command(r->node, &command, (const char *[]){"run", trial, attempt, t->nonce, NULL});
    rank_env(r, &input);
    struct rb_process_options o = rb_process_defaults();
    o.input = input.data;
    o.input_len = input.len;
    o.output = on_output;
    o.exited = on_follow_exit;
    o.arg = r;
    bool ok = rb_launcher_remote(t->l, r->node, command.data, &o, &r->process, &err);
    explicit_bzero(input.data, input.len);
    if (!ok && !rb_launcher_hold_up(t->l, &err, t->trial, &r->timer, follow_rank, r))
        r->timer =
            t->l->config.loop->timer_start(t->l->config.loop->ctx, rb_launcher_backoff_us(r->tries++), follow_rank, r);
}

static void follow_all(struct rb_launcher_task *t)
{
    for (int i = 0; i < t->n_ranks; i++)
        follow_rank(&t->ranks[i]);
}

// The marker of the exit line: the same after a restart of the controller, hard to print by accident.
static void make_nonce(struct rb_launcher_task *t)
{
    char text[256], hex[65];
    int n = snprintf(text, sizeof text, "%s/%d/%d/exit", t->l->config.run_id, t->trial, t->attempt);
    rb_digest_sha256(text, (size_t)n, hex);
    memcpy(t->nonce, hex, 32);
}

static char *strdup_or_null(const char *s)
{
    return s ? rb_xstrdup(s) : NULL;
}

void rb_launcher_start(struct rb_launcher *base, const struct rb_task *spec)
{
    struct rb_launcher_impl *l = (struct rb_launcher_impl *)base;
    if (rb_launcher_find_task(l, spec->trial, spec->attempt))
        return; // a repeated call
    struct rb_launcher_task *t = rb_xcalloc(1, sizeof *t);
    t->l = l;
    t->trial = spec->trial;
    t->attempt = spec->attempt;
    t->stage = spec->stage;
    t->on_spot = spec->on_spot;
    t->save = t->keep = t->waiting = (struct rb_saving){.task = t, .fd = -1};
    t->announced_to = -1;
    t->stop_code = -1;
    t->n_ranks = spec->n_slots;
    t->ranks = rb_xcalloc((size_t)spec->n_slots, sizeof *t->ranks);
    t->gpus = rb_xcalloc((size_t)spec->n_slots, sizeof *t->gpus);
    for (int i = 0; i < spec->n_slots; i++) {
        struct rb_launcher_node *node = rb_launcher_find_node(l, spec->slots[i].node);
        assert(node && "start on a node that was never prepared");
        t->ranks[i] = (struct rb_rank){.task = t, .index = i, .node = node, .log_fd = -1};
        t->gpus[i] = spec->slots[i].gpus;
    }
    t->env = rb_xcalloc((size_t)spec->n_env + 1, sizeof *t->env);
    for (t->n_env = 0; t->n_env < spec->n_env; t->n_env++)
        t->env[t->n_env] =
            (struct rb_key_value){rb_xstrdup(spec->env[t->n_env].key), rb_xstrdup(spec->env[t->n_env].value)};
    t->command = rb_xstrdup(spec->command);
    t->words = strdup_or_null(spec->words);
    t->resume_from = strdup_or_null(spec->resume_from);
    t->uri = strdup_or_null(spec->checkpoint_uri);
    make_nonce(t);
    t->next = l->tasks;
    l->tasks = t;
    if (t->resume_from)
        rb_launcher_load(t, follow_all);
    else
        follow_all(t);
}

// --- kill
// -------------------------------------------------------------------------------------------------------------

static void kill_ended(struct rb_rank *r)
{
    struct rb_launcher_task *t = r->task;
    if (--t->n_busy > 0)
        return;
    struct rb_launcher_impl *l = t->l;
    int trial = t->trial, attempt = t->attempt;
    unlink_task(t);
    rb_launcher_drop_task(t);
    l->config.events.killed(l->config.events.ctx, trial, attempt);
}

static void on_killed(void *arg, int code, const char *stderr_tail);

static void kill_again(void *arg)
{
    struct rb_rank *r = arg;
    struct rb_err err = {0};
    r->timer = 0;
    if (!spawn_kill(r, on_killed, &err) &&
        !rb_launcher_hold_up(r->task->l, &err, r->task->trial, &r->timer, kill_again, r))
        kill_ended(r);
}

static void on_killed(void *arg, int code, const char *stderr_tail)
{
    struct rb_rank *r = arg;
    const struct rb_launcher_config *c = &r->task->l->config;
    r->process = NULL;
    if (rb_launcher_held_up(r->node, code, stderr_tail, r->task->trial, &r->timer, kill_again, r))
        return;
    if (code == 255 && r->tries < c->reconnects)
        r->timer = c->loop->timer_start(c->loop->ctx, rb_launcher_backoff_us(r->tries++), kill_again, r);
    else if (code == 255) // it is unknown what still runs there
        rb_launcher_report_unreachable(r, stderr_tail);
    else
        kill_ended(r);
}

static void kill_gang(struct rb_launcher_task *t)
{
    t->killing = true;
    t->n_busy = 0;
    for (int i = 0; i < t->n_ranks; i++) {
        struct rb_rank *r = &t->ranks[i];
        if (!r->node)
            continue; // already gone
        close_rank(r);
        if (!r->unheard) // else its node may be gone, and this must not delay giving it up
            r->tries = 0;
        struct rb_err err = {0};
        t->n_busy +=
            spawn_kill(r, on_killed, &err) || rb_launcher_hold_up(t->l, &err, t->trial, &r->timer, kill_again, r);
    }
}

static void bury_killed(struct rb_launcher_task *t)
{
    struct rb_launcher_impl *l = t->l;
    int trial = t->trial, attempt = t->attempt;
    unlink_task(t);
    rb_launcher_drop_task(t);
    rb_launcher_report(l, RB_EVENT_KILLED, trial, attempt);
}

void rb_launcher_kill(struct rb_launcher *base, int trial, int attempt)
{
    struct rb_launcher_impl *l = (struct rb_launcher_impl *)base;
    struct rb_launcher_task *t = rb_launcher_find_task(l, trial, attempt);
    if (!t) {
        rb_launcher_report(l, RB_EVENT_KILLED, trial, attempt);
        return;
    }
    if (t->killing)
        return;
    kill_gang(t);
    if (t->n_busy == 0)
        bury_killed(t);
}

// --- a node leaves
// ----------------------------------------------------------------------------------------------------

// Processes there are dead, or will be with their node. Returns false if the rank is elsewhere.
static bool leave(struct rb_rank *r, const struct rb_launcher_node *node)
{
    if (r->node != node)
        return false;
    const bool busy = r->process || r->timer;
    close_rank(r);
    r->ended = true;
    r->node = NULL;
    r->task->n_busy -= r->task->killing && busy;
    return true;
}

void rb_launcher_drop_tasks_on(struct rb_launcher_impl *l, struct rb_launcher_node *node)
{
    struct rb_launcher_task *next;
    for (struct rb_launcher_task *t = l->tasks; t; t = next) {
        next = t->next;
        int n_left = 0, n_elsewhere = 0;
        for (int i = 0; i < t->n_ranks; i++) {
            n_left += leave(&t->ranks[i], node);
            n_elsewhere += t->ranks[i].node != NULL;
        }
        if (n_left == 0)
            continue;
        if (n_elsewhere > 0 && !t->killing)
            kill_gang(t); // the rest of a gang ends with any part of it
        if (n_elsewhere > 0 && t->n_busy > 0)
            continue;
        if (t->killing) {
            bury_killed(t);
        } else {
            unlink_task(t);
            rb_launcher_drop_task(t);
        }
    }
}
