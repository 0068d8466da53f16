// Checkpoints: from a node to the controller (or the job's bucket), and to the node that resumes the trial.
#include "executor/launcher/launcher_private.h"

#include "base/document/doc.h"
#include "base/errors/full.h"
#include "executor/launcher/trial_words.h"
#include "providers/wire/child.h"
#include "providers/wire/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTING_LIMIT_BYTES = 8 << 20 }; // some 100,000 names

static void report_saved(struct rb_launcher_task *t)
{
    t->l->config.events.saved(t->l->config.events.ctx, t->trial, t->attempt, t->save_to, NULL);
}

static void report_save_failed(struct rb_launcher_task *t, const struct rb_err *err)
{
    free(t->save_to); // a retry may follow
    t->save_to = NULL;
    rb_launcher_report(t->l, RB_EVENT_SAVED, t->trial, t->attempt)->err = *err;
}

void rb_launcher_checkpoint_dir(const struct rb_launcher_impl *l, char *out, size_t size)
{
    const struct rb_job *job = l->config.job;
    snprintf(out, size, "%s%s", job->in_place ? "../place/" : "", job->checkpoint_dir ? job->checkpoint_dir : "ckpt");
}

static void trial_words(const struct rb_launcher_task *t, char trial[16], char attempt[16])
{
    snprintf(trial, 16, "%d", t->trial);
    snprintf(attempt, 16, "%d", t->attempt);
}

// --- save
// ---------------------------------------------------------------------------------------------------------------

static bool keep_archive(struct rb_launcher_task *t, struct rb_err *err)
{
    char tmp[4096];
    snprintf(tmp, sizeof tmp, "%s.tmp", t->save_to);
    int fd = t->save_fd;
    t->save_fd = -1;
    bool ok = fsync(fd) == 0;
    ok = close(fd) == 0 && ok && rename(tmp, t->save_to) == 0;
    return ok ||
           rb_err_set(err, RB_E_CHECKPOINT_SAVE, "cannot keep the checkpoint %s: %s", t->save_to, strerror(errno));
}

// The node reports it beside the archive (node_script.sh).
static void report_link(const struct rb_launcher_task *t, const char *said)
{
    static const char mark[] = "symbolic link: \"";
    const struct rb_launcher_events *events = &t->l->config.events;
    const char *name = strstr(said, mark);
    char text[512];
    if (!name || !events->linked)
        return;
    name += sizeof mark - 1;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(name, "\""), name);
    events->linked(events->ctx, t->trial, text);
}

static void spawn_save(void *arg);

static void on_saved(void *arg, int code, const char *stderr_tail)
{
    struct rb_rank *r = arg;
    struct rb_launcher_task *t = r->task;
    r->process = NULL;
    struct rb_err err = {0};
    if (rb_launcher_held_up(t->l, code, stderr_tail, t->trial, &r->timer, spawn_save, r))
        return;
    if (code == 255 && r->tries < RB_RECONNECTS) { // the connection failed, not the checkpoint: again from the start
        r->timer =
            t->l->config.loop->timer_start(t->l->config.loop->ctx, rb_launcher_backoff_us(r->tries++), spawn_save, r);
        return;
    }
    if (code == 255) {
        rb_launcher_report_unreachable(r, stderr_tail);
        return;
    }
    if (code != 0)
        rb_err_set(&err, RB_E_CHECKPOINT_SAVE, "the checkpoint of trial %d could not be saved (exit code %d): %s",
                   t->trial, code, stderr_tail);
    if (code != 0 || (!t->uri && !keep_archive(t, &err))) {
        report_save_failed(t, &err);
        return;
    }
    report_link(t, stderr_tail);
    report_saved(t);
}

static void save_not_begun(struct rb_rank *r, const struct rb_err *err)
{
    if (!rb_launcher_hold_up(r->task->l, err, r->task->trial, &r->timer, spawn_save, r))
        report_save_failed(r->task, err);
}

static void spawn_save(void *arg)
{
    struct rb_rank *r = arg;
    struct rb_launcher_task *t = r->task;
    const struct rb_job *job = t->l->config.job;
    char trial[16], attempt[16], dir[4096];
    trial_words(t, trial, attempt);
    rb_launcher_checkpoint_dir(t->l, dir, sizeof dir);
    r->timer = 0;
    struct rb_buf command RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    struct rb_process_options o = rb_process_defaults();
    struct rb_err err = {0};
    if (t->uri) {
        rb_launcher_node_command(t->l, &command, (const char *[]){"upload", trial, attempt, dir, t->save_to, NULL});
    } else {
        RB_AUTO(rb_buf_finish) struct rb_buf names = RB_BUF_INIT;
        rb_checkpoint_names(job, &names);
        rb_launcher_node_command(t->l, &command,
                                 (const char *[]){"save", trial, attempt, dir, names.len > 0 ? names.data : NULL,
                                                  job->starts_over ? NULL : "must", NULL});
        char tmp[4096];
        snprintf(tmp, sizeof tmp, "%s.tmp", t->save_to);
        if (t->save_fd >= 0)
            close(t->save_fd);
        t->save_fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (t->save_fd < 0) {
            if (rb_is_full(errno))
                rb_err_set_full(&err, errno, tmp);
            else
                rb_err_set(&err, RB_E_CHECKPOINT_SAVE, "cannot write %s: %s", tmp, strerror(errno));
            save_not_begun(r, &err);
            return;
        }
        o.output_fd = t->save_fd;
    }
    o.exited = on_saved;
    o.arg = r;
    if (!rb_launcher_remote(t->l, r->node, command.data, &o, &r->process, &err))
        save_not_begun(r, &err);
}

// Makes checkpoints/trial-0007/ if it is not there yet.
static bool make_parents(const char *path, struct rb_err *err)
{
    char dir[4096];
    snprintf(dir, sizeof dir, "%s", path);
    for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(dir, 0700) != 0 && errno != EEXIST)
            return rb_err_set(err, RB_E_CHECKPOINT_SAVE, "cannot make %s: %s", dir, strerror(errno));
        *slash = '/';
    }
    return true;
}

void rb_launcher_save(struct rb_launcher *base, int trial, int attempt, const char *dest)
{
    struct rb_launcher_task *t = rb_launcher_find_task((struct rb_launcher_impl *)base, trial, attempt);
    if (!t || t->save_to)
        return; // the node has gone, or a repeated call
    struct rb_buf to = RB_BUF_INIT;
    if (t->uri)
        rb_buf_printf(&to, "%s/trial-%04d/%s", t->uri, trial, strrchr(dest, '/') + 1);
    else
        rb_buf_printf(&to, "%s.tar", dest);
    t->save_to = to.data;
    struct rb_rank *r = &t->ranks[0];
    rb_process_abandon(r->process); // the follower has no more output
    r->process = NULL;
    r->tries = 0;
    struct rb_err err = {0};
    if (!t->uri && !make_parents(t->save_to, &err)) {
        report_save_failed(t, &err);
        return;
    }
    spawn_save(r);
}

// --- load
// ---------------------------------------------------------------------------------------------------------------

static void spawn_load(void *arg);

static void load_failed(struct rb_launcher_task *t)
{
    // The trial cannot resume from its checkpoint: that is a failure of this attempt, reported like any other.
    if (!t->exited) {
        t->exited = true;
        rb_launcher_report(t->l, RB_EVENT_EXITED, t->trial, t->attempt);
    }
}

static void on_loaded(void *arg, int code, const char *stderr_tail)
{
    struct rb_rank *r = arg;
    struct rb_launcher_task *t = r->task;
    r->process = NULL;
    const struct rb_loop *loop = t->l->config.loop;
    if (rb_launcher_held_up(t->l, code, stderr_tail, t->trial, &r->timer, spawn_load, r))
        return;
    if (code == 255 && r->tries < RB_RECONNECTS) {
        r->timer = loop->timer_start(loop->ctx, rb_launcher_backoff_us(r->tries++), spawn_load, r);
    } else if (code == 255) {
        rb_launcher_report_unreachable(r, stderr_tail);
    } else if (code != 0) {
        struct rb_buf text RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
        rb_buf_printf(&text, "rubberband: the checkpoint could not be brought to the node: %s", stderr_tail);
        t->l->config.events.line(t->l->config.events.ctx, t->trial, t->attempt, text.data, text.len);
        load_failed(t);
    } else if (--t->n_busy == 0 && !t->exited) {
        t->loaded(t);
    }
}

// Names what a node already holds, so that it is not sent again.
static void checkpoint_name(const char *path, char out[33])
{
    char hex[65], text[4200];
    struct stat st = {0};
    stat(path, &st);
    int n = snprintf(text, sizeof text, "%s %lld %lld.%09ld", path, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                     st.st_mtim.tv_nsec);
    rb_digest_sha256(text, (size_t)n, hex);
    memcpy(out, hex, 32);
    out[32] = '\0';
}

static void spawn_load(void *arg)
{
    struct rb_rank *r = arg;
    struct rb_launcher_task *t = r->task;
    char trial[16], attempt[16], name[33];
    trial_words(t, trial, attempt);
    checkpoint_name(t->resume_from, name);
    struct rb_err err = {0};
    bool ok = true;
    r->timer = 0;
    struct rb_buf command RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    struct rb_process_options o = rb_process_defaults();
    o.exited = on_loaded;
    o.arg = r;
    if (strstr(t->resume_from, "://")) {
        rb_launcher_node_command(t->l, &command, (const char *[]){"download", trial, name, t->resume_from, NULL});
    } else {
        rb_launcher_node_command(t->l, &command, (const char *[]){"load", trial, name, NULL});
        o.input_fd = open(t->resume_from, O_RDONLY | O_CLOEXEC);
        if (o.input_fd < 0 && rb_is_full(errno)) // otherwise the node reports the missing file and unpacks nothing
            ok = rb_err_set_full(&err, errno, t->resume_from);
    }
    ok = ok && rb_launcher_remote(t->l, r->node, command.data, &o, &r->process, &err);
    if (o.input_fd >= 0)
        close(o.input_fd);
    if (!ok && !rb_launcher_hold_up(t->l, &err, t->trial, &r->timer, spawn_load, r))
        load_failed(t);
}

void rb_launcher_load(struct rb_launcher_task *t, void (*next)(struct rb_launcher_task *task))
{
    t->loaded = next;
    t->n_busy = t->n_ranks;
    for (int i = 0; i < t->n_ranks; i++)
        spawn_load(&t->ranks[i]);
}

// --- extract
// --------------------------------------------------------------------------------------------------------------

// One line of `tar -tv`: type letter first, name last; only plain files and directories with safe names may pass.
static bool entry_is_tame(const char *line)
{
    if (line[0] != '-' && line[0] != 'd')
        return false;
    const char *name = strstr(line, " ./");
    if (!name)
        return strcmp(line + strlen(line) - 2, " .") == 0;
    name++;
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '\\')
            return false;
    return !strstr(name, "/../") && !strstr(name, " -> ") && !strstr(name, " link to ") &&
           !(strlen(name) >= 3 && strcmp(name + strlen(name) - 3, "/..") == 0);
}

static bool refuse_entry(const char *archive, const char *line, struct rb_err *err)
{
    const char *name = strstr(line, " ./");
    return rb_err_set(
        err, RB_E_CHECKPOINT_ARCHIVE,
        "%s: not unpacked: \"%.200s\" in it is no plain file or directory with a printable name; `tar -xf` unpacks "
        "it if you trust the script",
        archive, name ? name + 1 : line);
}

static bool archive_is_tame(const char *archive, struct rb_err *err)
{
    // In plain C tar would escape non-ASCII characters, too.
    const char *const argv[] = {"env", "LC_ALL=C.UTF-8", "tar", "--quoting-style=escape", "-tvf", archive, NULL};
    RB_AUTO(rb_buf_finish) struct rb_buf list = RB_BUF_INIT;
    const struct rb_child_options options = {.out = &list, .max_output_bytes = LISTING_LIMIT_BYTES};
    if (!rb_child_run(argv, &options, NULL))
        return rb_err_set(err, RB_E_CHECKPOINT_ARCHIVE, "%s: not a checkpoint archive: not unpacked", archive);
    rb_buf_puts(&list, "");
    for (char *line = list.data, *end; line && *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        if (!entry_is_tame(line))
            return refuse_entry(archive, line, err);
    }
    return true;
}

bool rb_checkpoint_extract(const char *archive, const char *dir, struct rb_err *err)
{
    if (!archive_is_tame(archive, err))
        return false;
    if (mkdir(dir, 0777) != 0) {
        const int why = errno;
        return rb_err_set(err, RB_E_CHECKPOINT_SAVE, "cannot make %s: %s%s", dir, strerror(why),
                          why == EEXIST ? "; name a directory that is not there yet" : "");
    }
    const char *const argv[] = {"tar", "--no-same-owner", "--no-same-permissions", "-C", dir, "-xf", archive, NULL};
    return rb_child_run(argv, &(struct rb_child_options){0}, err) ||
           rb_err_prefix(err, "%s could not be unpacked into %s", archive, dir);
}
