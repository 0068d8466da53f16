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
#include <sys/statvfs.h>
#include <unistd.h>

enum { LISTING_LIMIT_BYTES = 8 << 20 }; // some 100,000 names

static void report_save_failed(const struct rb_saving *s, const struct rb_err *err)
{
    struct rb_launcher_pending *event =
        rb_launcher_report(s->task->l, s->name ? RB_EVENT_KEPT : RB_EVENT_SAVED, s->task->trial, s->task->attempt);
    event->resource = s->resource;
    event->err = *err;
}

static void report_saved(const struct rb_saving *s)
{
    const struct rb_launcher_task *t = s->task;
    const struct rb_launcher_events *events = &t->l->config.events;
    if (!s->name)
        events->saved(events->ctx, t->trial, t->attempt, s->to, NULL);
    else if (events->kept)
        events->kept(events->ctx, t->trial, t->attempt, s->resource, s->to, NULL);
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

// --- room on this machine
// ---------------------------------------------------------------------------------------------------------------

enum {
    RESERVE_SHARE = 16,       // of the disk, at most
    MOST_RESERVE = 256 << 20, // bytes: what a network brings until the next look, and what the run's journal needs
    LEAST_ROOM = 64 << 10,    // bytes; with less the disk counts as full
    LOOK_US = 100000,
};

// Bytes that are free for the archive; out_reserve: those of them that no midway one may take.
static int64_t room_for(const struct rb_saving *s, int64_t *out_reserve)
{
    char dir[4096];
    struct statvfs disk;
    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(s->to, '/') - s->to), s->to);
    *out_reserve = 0;
    if (statvfs(dir, &disk) != 0 || disk.f_blocks == 0)
        return INT64_MAX; // unknown: writing shows it
    const int64_t block = (int64_t)disk.f_frsize, share = (int64_t)disk.f_blocks / RESERVE_SHARE * block;
    *out_reserve = share < MOST_RESERVE ? share : MOST_RESERVE;
    return (int64_t)disk.f_bavail * block;
}

// A run cannot go on without its journal, so a midway checkpoint leaves some room for that. What a start has left is needed: it
// waits as long as there is no more room than was too little before.
static bool has_room(const struct rb_saving *s, struct rb_err *err)
{
    int64_t reserve;
    const int64_t room = room_for(s, &reserve);
    if (room >= (s->name ? reserve : LEAST_ROOM + s->too_little))
        return true;
    return rb_err_set(err, RB_E_MACHINE_FULL, "%s: this machine's disk has only %.1f MB left%s: make room", s->to,
                      (double)room / 1e6, s->name ? ", which the run's journal may need" : "");
}

// --- save
// ---------------------------------------------------------------------------------------------------------------

static bool unwritable(int why, const char *path, struct rb_err *err)
{
    if (rb_is_full(why))
        return rb_err_set_full(err, why, path);
    return rb_err_set(err, why == ENOSPC ? RB_E_MACHINE_FULL : RB_E_CHECKPOINT_SAVE, "cannot write %s: %s", path, strerror(why));
}

static bool keep_archive(struct rb_saving *s, struct rb_err *err)
{
    char tmp[4096];
    snprintf(tmp, sizeof tmp, "%s.tmp", s->to);
    int fd = s->fd;
    s->fd = -1;
    bool ok = fsync(fd) == 0;
    ok = close(fd) == 0 && ok && rename(tmp, s->to) == 0;
    const int why = errno;
    if (!ok)
        unlink(tmp);
    return ok || unwritable(why, s->to, err);
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

// Half an archive only takes room. Returns its size; -1: none was begun.
static int64_t drop_partial(struct rb_saving *s)
{
    char tmp[4096];
    struct stat st = {.st_size = -1};
    if (s->fd < 0)
        return -1;
    snprintf(tmp, sizeof tmp, "%s.tmp", s->to);
    fstat(s->fd, &st);
    close(s->fd);
    s->fd = -1;
    unlink(tmp);
    return st.st_size;
}

// Its command is ended; what it was for is forgotten.
static void stop_saving(struct rb_saving *s)
{
    const struct rb_loop *loop = s->task->l->config.loop;
    rb_process_abandon(s->process);
    loop->timer_cancel(loop->ctx, s->timer);
    drop_partial(s);
    free(s->to);
    free(s->name);
    *s = (struct rb_saving){.task = s->task, .fd = -1};
}

void rb_launcher_stop_saving(struct rb_launcher_task *t)
{
    stop_saving(&t->save);
    stop_saving(&t->keep);
    stop_saving(&t->waiting);
    rb_process_abandon(t->discarding);
    t->discarding = NULL;
}

static void keep_next(struct rb_launcher_task *t);

// err NULL: it is safe.
static void end_saving(struct rb_saving *s, const struct rb_err *err)
{
    struct rb_launcher_task *t = s->task;
    const bool midway = s->name != NULL;
    if (err) {
        if (!midway || !t->waiting.to) // else it counts no more
            report_save_failed(s, err);
        stop_saving(s); // a retry may follow
    } else {
        if (midway) {
            rb_buf_consume(&t->announced, s->n_discards);
            rb_buf_printf(&t->announced, "%s ", s->name);
        }
        report_saved(s); // the receiver may drop the task
    }
    if (midway && !t->dead) {
        stop_saving(s);
        keep_next(t);
    }
}

static void spawn_save(void *arg);

// What a start has left waits if this machine is full. A midway checkpoint does not: the next one may find room.
static void cannot_save(struct rb_saving *s, const struct rb_err *err)
{
    drop_partial(s);
    if (s->name || !rb_launcher_hold_up(s->task->l, err, s->task->trial, &s->timer, spawn_save, s))
        end_saving(s, err);
}

// Of a midway checkpoint: others are written beside it.
static void look_at_room(void *arg)
{
    struct rb_saving *s = arg;
    const struct rb_loop *loop = s->task->l->config.loop;
    struct rb_err err = {0};
    s->timer = 0;
    if (has_room(s, &err)) {
        s->timer = loop->timer_start(loop->ctx, LOOK_US, look_at_room, s);
        return;
    }
    rb_process_abandon(s->process);
    s->process = NULL;
    cannot_save(s, &err);
}

// False: something else ended it.
static bool has_filled_the_disk(struct rb_saving *s)
{
    int64_t reserve;
    struct rb_err err = {0};
    if (s->fd < 0 || room_for(s, &reserve) >= LEAST_ROOM)
        return false;
    s->too_little = drop_partial(s);
    rb_err_set(&err, RB_E_MACHINE_FULL, "%s: this machine's disk is full, and %.1f MB are not enough: make room", s->to,
               (double)s->too_little / 1e6);
    cannot_save(s, &err);
    return true;
}

static void on_saved(void *arg, int code, const char *stderr_tail)
{
    struct rb_saving *s = arg;
    struct rb_launcher_task *t = s->task;
    const struct rb_loop *loop = t->l->config.loop;
    s->process = NULL;
    loop->timer_cancel(loop->ctx, s->timer); // its next look at the room
    s->timer = 0;
    struct rb_err err = {0};
    if ((code != 0 && has_filled_the_disk(s)) ||
        rb_launcher_held_up(t->ranks[0].node, code, stderr_tail, t->trial, &s->timer, spawn_save, s))
        return;
    if (code == 255 && s->tries < RB_RECONNECTS) { // the connection failed, not the checkpoint: again from the start
        s->timer = loop->timer_start(loop->ctx, rb_launcher_backoff_us(s->tries++), spawn_save, s);
        return;
    }
    if (code == 255 && !s->name) { // else who follows the trial finds out
        rb_launcher_report_unreachable(&t->ranks[0], stderr_tail);
        return;
    }
    if (code != 0)
        rb_err_set(&err, RB_E_CHECKPOINT_SAVE, "the checkpoint of trial %d could not be saved (exit code %d): %s",
                   t->trial, code, stderr_tail);
    if (code != 0 || (!t->uri && !keep_archive(s, &err))) {
        cannot_save(s, &err);
        return;
    }
    report_link(t, stderr_tail);
    end_saving(s, NULL);
}

// False: err says why.
static bool open_archive(struct rb_saving *s, struct rb_err *err)
{
    char tmp[4096];
    snprintf(tmp, sizeof tmp, "%s.tmp", s->to);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    return s->fd >= 0 || unwritable(errno, tmp, err);
}

// Makes checkpoints/trial-0007/ if it is not there yet.
static bool make_parents(const char *path, struct rb_err *err)
{
    char dir[4096];
    snprintf(dir, sizeof dir, "%s", path);
    for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(dir, 0700) != 0 && errno != EEXIST)
            return unwritable(errno, dir, err);
        *slash = '/';
    }
    return true;
}

static void spawn_save(void *arg)
{
    struct rb_saving *s = arg;
    struct rb_launcher_task *t = s->task;
    const struct rb_job *job = t->l->config.job;
    const struct rb_loop *loop = t->l->config.loop;
    char trial[16], attempt[16], dir[4096];
    trial_words(t, trial, attempt);
    rb_launcher_checkpoint_dir(t->l, dir, sizeof dir);
    s->timer = 0;
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT, files = RB_BUF_INIT, discards = RB_BUF_INIT;
    struct rb_process_options o = rb_process_defaults();
    struct rb_err err = {0};
    rb_buf_append(&discards, rb_buf_str(&t->announced), s->n_discards);
    rb_checkpoint_names(job, &files);
    const char *name = s->name ? s->name : "", *names = rb_buf_str(&discards);
    if (t->uri)
        rb_launcher_node_command(t->ranks[0].node, &command,
                                 (const char *[]){"upload", trial, attempt, dir, s->to, name, names, NULL});
    else
        rb_launcher_node_command(t->ranks[0].node, &command,
                                 (const char *[]){"save", trial, attempt, dir, rb_buf_str(&files),
                                                  job->starts_over ? "" : "must", name, names, NULL});
    if (!t->uri && !(make_parents(s->to, &err) && has_room(s, &err) && open_archive(s, &err))) {
        cannot_save(s, &err);
        return;
    }
    if (!t->uri)
        o.output_fd = s->fd;
    o.exited = on_saved;
    o.arg = s;
    if (!rb_launcher_remote(t->l, t->ranks[0].node, command.data, &o, &s->process, &err))
        cannot_save(s, &err);
    else if (s->name && !t->uri)
        s->timer = loop->timer_start(loop->ctx, LOOK_US, look_at_room, s);
}

// The archive that dest stands for, or the URI. The caller's.
static char *target(const struct rb_launcher_task *t, const char *dest)
{
    struct rb_buf to = RB_BUF_INIT;
    if (t->uri)
        rb_buf_printf(&to, "%s/trial-%04d/%s", t->uri, t->trial, strrchr(dest, '/') + 1);
    else
        rb_buf_printf(&to, "%s.tar", dest);
    return to.data;
}

static void begin_saving(struct rb_saving *s)
{
    s->n_discards = s->task->announced.len;
    spawn_save(s);
}

void rb_launcher_save(struct rb_launcher *base, int trial, int attempt, const char *dest)
{
    struct rb_launcher_task *t = rb_launcher_find_task((struct rb_launcher_impl *)base, trial, attempt);
    if (!t || t->save.to)
        return; // the node has gone, or a repeated call
    rb_process_abandon(t->ranks[0].process); // the follower has no more output
    t->ranks[0].process = NULL;
    rb_launcher_stop_saving(t); // a checkpoint from before
    t->save.to = target(t, dest);
    begin_saving(&t->save);
}

// --- midway checkpoints
// ---------------------------------------------------------------------------------------------------------------

enum { MOST_ANNOUNCED_BYTES = 16384 };

static void keep_next(struct rb_launcher_task *t)
{
    if (t->keep.to || !t->waiting.to)
        return;
    t->keep = t->waiting;
    t->waiting = (struct rb_saving){.task = t, .fd = -1};
    begin_saving(&t->keep);
}

void rb_launcher_keep(struct rb_launcher *base, int trial, int attempt, const char *name, int64_t resource,
                      const char *dest)
{
    struct rb_launcher_task *t = rb_launcher_find_task((struct rb_launcher_impl *)base, trial, attempt);
    struct rb_err err = {0};
    if (!t || t->killing || t->exited || t->breaking || resource <= t->announced_to)
        return;
    t->announced_to = resource;
    if (t->announced.len > MOST_ANNOUNCED_BYTES) {
        rb_err_set(&err, RB_E_CHECKPOINT_SAVE, "checkpoints are announced faster than they can be saved");
        report_save_failed(&(struct rb_saving){.task = t, .name = (char *)"", .resource = resource}, &err);
        return;
    }
    rb_buf_printf(&t->announced, "%s ", name);
    if (!dest)
        return;
    stop_saving(&t->waiting);
    t->waiting.name = rb_xstrdup(name);
    t->waiting.to = target(t, dest);
    t->waiting.resource = resource;
    keep_next(t);
}

static void discard_next(struct rb_launcher_task *t);

static void on_discarded(void *arg, int code, const char *stderr_tail)
{
    struct rb_launcher_task *t = arg;
    (void)code, (void)stderr_tail;
    t->discarding = NULL;
    discard_next(t);
}

static void discard_next(struct rb_launcher_task *t)
{
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT, uri = RB_BUF_INIT;
    struct rb_process_options o = rb_process_defaults();
    struct rb_err err = {0};
    if (t->killing || t->discarding || t->discards.len == 0 || !t->ranks[0].node)
        return;
    rb_buf_append(&uri, t->discards.data, strcspn(rb_buf_str(&t->discards), "\n"));
    rb_buf_consume(&t->discards, uri.len + 1);
    rb_launcher_node_command(t->ranks[0].node, &command, (const char *[]){"discard", rb_buf_str(&uri), NULL});
    o.exited = on_discarded;
    o.arg = t;
    rb_launcher_remote(t->l, t->ranks[0].node, command.data, &o, &t->discarding, &err);
}

void rb_launcher_discard(struct rb_launcher *base, int trial, int attempt, const char *uri)
{
    struct rb_launcher_task *t = rb_launcher_find_task((struct rb_launcher_impl *)base, trial, attempt);
    if (!t)
        return;
    rb_buf_printf(&t->discards, "%s\n", uri);
    discard_next(t);
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
    if (rb_launcher_held_up(r->node, code, stderr_tail, t->trial, &r->timer, spawn_load, r))
        return;
    if (code == 255 && r->tries < RB_RECONNECTS) {
        r->timer = loop->timer_start(loop->ctx, rb_launcher_backoff_us(r->tries++), spawn_load, r);
    } else if (code == 255) {
        rb_launcher_report_unreachable(r, stderr_tail);
    } else if (code != 0 && !rb_launcher_report_no_room(r, stderr_tail)) {
        struct rb_buf text RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
        rb_buf_printf(&text, "rubberband: the checkpoint could not be brought to the node: %s", stderr_tail);
        t->l->config.events.line(t->l->config.events.ctx, t->trial, t->attempt, text.data, text.len);
        load_failed(t);
    } else if (code == 0 && --t->n_busy == 0 && !t->exited) {
        t->loaded(t);
    }
}

// Names what a node already holds, so that it is not sent again. Its size in bytes; 0: it is missing, or in a bucket.
static long long checkpoint_name(const char *path, char out[33])
{
    char hex[65], text[4200];
    struct stat st = {0};
    stat(path, &st);
    int n = snprintf(text, sizeof text, "%s %lld %lld.%09ld", path, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                     st.st_mtim.tv_nsec);
    rb_digest_sha256(text, (size_t)n, hex);
    memcpy(out, hex, 32);
    out[32] = '\0';
    return (long long)st.st_size;
}

static void spawn_load(void *arg)
{
    struct rb_rank *r = arg;
    struct rb_launcher_task *t = r->task;
    char trial[16], attempt[16], name[33], size[24];
    trial_words(t, trial, attempt);
    snprintf(size, sizeof size, "%lld", checkpoint_name(t->resume_from, name));
    struct rb_err err = {0};
    bool ok = true;
    r->timer = 0;
    struct rb_buf command RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    struct rb_process_options o = rb_process_defaults();
    o.exited = on_loaded;
    o.arg = r;
    if (strstr(t->resume_from, "://")) {
        rb_launcher_node_command(r->node, &command, (const char *[]){"download", trial, name, t->resume_from, NULL});
    } else {
        rb_launcher_node_command(r->node, &command, (const char *[]){"load", trial, name, size, NULL});
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
