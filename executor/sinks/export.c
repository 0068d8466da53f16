// One remedy for everything that goes wrong: close sink and feed, wait, and begin again from the first fact.
#include "executor/sinks/export.h"

#include "base/clock.h"
#include "base/errors/log.h"
#include "executor/sinks/sink_cursor.h"
#include "executor/sinks/sink_feed.h"
#include "executor/sinks/sink_file.h"
#include "executor/sinks/sink_place.h"
#include "profiles/job/job_sinks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LOCK_US = 20000000,      // to wait for a follower of a process that has died
    TRIES = 4,               // of one export, 0.5, 1 and 2 s apart
    LAST_TRIES = 2,          // of a follower, when the run is over
    FIRST_PAUSE_US = 500000, // after a failure; doubled with each
    LONGEST_PAUSE_US = 60000000,
    POLL_US = 500000,    // while it follows
    SHARE = 20,          // delivering takes at most this part of the time
    STALE_US = 15000000, // costs grow without an event
};

struct delivery {
    const struct rb_export *what;
    const struct rb_sink_ops *ops;
    struct rb_sink_feed *feed; // NULL: closed
    void *sink;
    int64_t delivered_us, took_us; // monotonic: of the last flush
    struct rb_sink_cursor cursor;
};

static void nap(int64_t us)
{
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL); // a signal ends it
}

static const char *name_of(const struct rb_export *e)
{
    return rb_sink_names[e->target.spec->kind];
}

static void begin(struct delivery *d, const struct rb_export *e)
{
    RB_AUTO(rb_buf_finish) struct rb_buf target = RB_BUF_INIT;
    *d = (struct delivery){.what = e, .ops = rb_sink_find(e->target.spec->kind)};
    rb_sink_target_name(&e->target, &target);
    rb_sink_cursor_read(e->files->dir, name_of(e), &d->cursor);
    if (strcmp(d->cursor.target, rb_buf_str(&target)) != 0)
        d->cursor = (struct rb_sink_cursor){0};
    snprintf(d->cursor.target, sizeof d->cursor.target, "%s", rb_buf_str(&target));
}

static void end(struct delivery *d)
{
    if (d->sink)
        d->ops->close(d->sink);
    rb_sink_feed_close(d->feed);
    d->sink = NULL;
    d->feed = NULL;
}

static bool open_both(struct delivery *d, struct rb_err *err)
{
    return d->feed || (rb_sink_feed_open(d->what->files, d->ops->foresees, &d->feed, err) &&
                       d->ops->open(rb_sink_feed_run(d->feed), &d->what->target, &d->sink, err));
}

static bool flush(struct delivery *d, bool at_work, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_sink_now now;
    const int64_t began_us = rb_clock_monotonic_us();
    if (!rb_sink_feed_now(d->feed, at_work, &arena, &now, err) || !d->ops->flush(d->sink, &now, err))
        return false;
    d->delivered_us = rb_clock_monotonic_us();
    d->took_us = d->delivered_us - began_us;
    d->cursor.events = rb_sink_feed_events(d->feed);
    d->cursor.error[0] = '\0';
    return rb_sink_cursor_write(d->what->files->dir, name_of(d->what), &d->cursor, err);
}

// Delivers what is new. all: also if nothing is.
static bool deliver(struct delivery *d, bool all, bool at_work, struct rb_err *err)
{
    bool any;
    all = all || !d->feed || rb_clock_monotonic_us() - d->delivered_us > STALE_US;
    if (!open_both(d, err) || !rb_sink_feed_play(d->feed, d->ops, d->sink, &any, err))
        return false;
    return (!any && !all) || flush(d, at_work, err);
}

static void fail(struct delivery *d, const struct rb_err *err)
{
    snprintf(d->cursor.error, sizeof d->cursor.error, "%.*s", (int)sizeof d->cursor.error - 1, err->message);
    rb_sink_cursor_write(d->what->files->dir, name_of(d->what), &d->cursor, NULL); // the error itself is what counts
    end(d);
}

static bool taken(const struct rb_export *e, int pid, struct rb_err *err)
{
    char who[40] = "another process";
    if (pid > 0)
        snprintf(who, sizeof who, "process %d", pid);
    return rb_err_set(err, RB_E_SINK_TAKEN, "%s: %s is sending the results of this run", name_of(e), who);
}

static bool make_folder(const struct rb_export *e, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/sinks", e->files->dir);
    return rb_sink_make_dirs(rb_buf_str(&path), true, err);
}

static bool try_once(struct delivery *d, struct rb_err *err)
{
    if (deliver(d, true, rb_run_is_carried_out(d->what->files->root, d->what->files->run_id), err))
        return true;
    fail(d, err);
    return false;
}

bool rb_export_once(const struct rb_export *e, int64_t *out_events, struct rb_err *err)
{
    struct delivery d;
    int pid;
    if (!make_folder(e, err))
        return false;
    const int lock = rb_sink_lock(e->files->dir, name_of(e), &pid);
    if (lock < 0)
        return taken(e, pid, err);
    begin(&d, e);
    bool ok = try_once(&d, err);
    for (int i = 1; !ok && rb_err_number(err) == RB_E_SINK_SERVER && i < TRIES; i++) {
        nap(FIRST_PAUSE_US << (i - 1));
        ok = try_once(&d, err);
    }
    *out_events = d.cursor.events;
    end(&d);
    close(lock);
    return ok;
}

// --- along with the run

static bool is_asked_to_end(const struct rb_export *e)
{
    return e->ended && e->ended(e->ctx);
}

static bool goes_on(const struct rb_export *e)
{
    return !is_asked_to_end(e) && rb_run_is_carried_out(e->files->root, e->files->run_id);
}

static int64_t pause_after(const struct delivery *d, int n_failed)
{
    if (n_failed == 0)
        return d->took_us * SHARE > POLL_US ? d->took_us * SHARE : POLL_US;
    const int64_t us = (int64_t)FIRST_PAUSE_US << (n_failed < 8 ? n_failed : 8);
    return us < LONGEST_PAUSE_US ? us : LONGEST_PAUSE_US;
}

// In steps, so that the end of the run is seen soon.
static void wait_for_news(const struct rb_export *e, int64_t us)
{
    const int64_t until_us = rb_clock_monotonic_us() + us;
    while (rb_clock_monotonic_us() < until_us && goes_on(e))
        nap(POLL_US < us ? POLL_US : us);
}

// A follower of an rbrun that was killed ends by itself, a moment later.
static bool wait_for_lock(const struct rb_export *e, int *out_lock, struct rb_err *err)
{
    int64_t until_us = INT64_MAX;
    int pid;
    while ((*out_lock = rb_sink_lock(e->files->dir, name_of(e), &pid)) < 0) {
        const bool held = errno == EWOULDBLOCK;
        if (!goes_on(e) && until_us == INT64_MAX)
            until_us = rb_clock_monotonic_us() + LOCK_US;
        if (!held || rb_clock_monotonic_us() > until_us)
            return taken(e, pid, err);
        nap(POLL_US);
    }
    return true;
}

static bool follow(struct delivery *d, struct rb_err *err)
{
    int n_failed = 0;
    while (goes_on(d->what)) {
        const bool ok = deliver(d, false, true, err);
        if (!ok) {
            fail(d, err);
            rb_warn("%s", err->message);
        }
        n_failed = ok ? 0 : n_failed + 1;
        wait_for_news(d->what, pause_after(d, n_failed));
    }
    bool ok = try_once(d, err);
    for (int i = 1; !ok && i < LAST_TRIES; i++) {
        nap(FIRST_PAUSE_US);
        ok = try_once(d, err);
    }
    return ok;
}

bool rb_export_follow(const struct rb_export *e, struct rb_err *err)
{
    struct delivery d;
    int lock;
    if (!make_folder(e, err) || !wait_for_lock(e, &lock, err))
        return false;
    begin(&d, e);
    const bool ok = follow(&d, err);
    end(&d);
    close(lock);
    return ok;
}
