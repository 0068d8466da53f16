// Makes documents and pages again when a page asks, but so rarely that it takes only a small part of a core. The
// server's thread has its own journals, plans and engines. It shares two flags with the main thread (and inside
// libraries cJSON's last error, which is not read).
#include "views/run/run_serve.h"

#include "base/clock.h"
#include "base/errors/log.h"
#include "views/live/live_server.h"
#include "views/pages/run_page.h"
#include "views/run/run_document.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LEAST_AGE_US = 1000000, // of a document before it is made again
    SHARE = 20,             // making it takes at most this part of the time
    FAREWELL_US = 12000000, // a page asks every other second, a browser without time more seldom
    FAREWELL_STEP_US = 50000,
};

struct shown {
    int64_t made_at_us, took_us; // by the monotonic clock
    bool made, shown_over, warned;
};

struct rb_run_serve {
    struct rb_run_serve_source source;
    struct rb_live_server *server;
    struct shown *pages; // [source.n_pages], only for the server's thread
    // Both threads:
    atomic_bool over;     // the run has ended
    atomic_bool was_seen; // and a client has received the document that reports it
};

// --- the server's thread

bool rb_run_serve_make(struct rb_following *f, bool over, struct rb_buf *page, struct rb_buf *data, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT;
    return rb_following_look(f, false, err) &&
           rb_run_page_document(f->journal, &f->files.plan, !over, over ? NULL : &f->screen.progress, &document, err) &&
           rb_run_page_write(rb_buf_str(&document), document.len, true, page, err) &&
           rb_run_page_live(rb_buf_str(&document), document.len, over, data, err);
}

static bool is_fresh(const struct shown *p, int64_t now_us)
{
    const int64_t age_us = p->took_us * SHARE > LEAST_AGE_US ? p->took_us * SHARE : LEAST_AGE_US;
    return p->made && now_us - p->made_at_us < age_us;
}

static void warn(struct shown *p, const struct rb_err *err)
{
    if (!p->warned && err->code != RB_ERR_NOT_FOUND)
        rb_warn("the served page is no longer updated: %s", err->message);
    p->warned = p->warned || err->code != RB_ERR_NOT_FOUND;
}

static bool refresh(void *ctx, int number, struct rb_buf *page, struct rb_buf *data)
{
    struct rb_run_serve *s = ctx;
    struct shown *p = &s->pages[number];
    struct rb_err err;
    const bool over = atomic_load(&s->over);
    const int64_t began_us = rb_clock_monotonic_us();
    if (over == p->shown_over && is_fresh(p, began_us))
        return false;
    if (!s->source.make(s->source.ctx, number, over, page, data, &err)) {
        warn(p, &err);
        return false;
    }
    p->made_at_us = rb_clock_monotonic_us();
    p->took_us = p->made_at_us - began_us;
    p->made = true;
    p->shown_over = over;
    return true;
}

static void sent(void *ctx, int number)
{
    struct rb_run_serve *s = ctx;
    if (s->pages[number].shown_over)
        atomic_store(&s->was_seen, true);
}

// --- one run

static bool make_run(void *ctx, int number, bool over, struct rb_buf *page, struct rb_buf *data, struct rb_err *err)
{
    (void)number;
    return rb_run_serve_make(ctx, over, page, data, err);
}

static void finish_run(void *ctx)
{
    rb_following_finish(ctx);
    free(ctx);
}

static bool open_run(const char *state_dir, const char *id, struct rb_run_serve_source *out, struct rb_err *err)
{
    struct rb_following *f = rb_xcalloc(1, sizeof *f);
    *out = (struct rb_run_serve_source){.n_pages = 1, .make = make_run, .finish = finish_run, .ctx = f};
    return rb_following_open(f, state_dir, id, err);
}

struct rb_run_serve *rb_run_serve_begin(const char *address, const char *state_dir, const char *run_id)
{
    return rb_run_serve_begin_with(address, state_dir, run_id, open_run);
}

// --- the main thread

bool rb_run_serve_check(const char *address, struct rb_err *err)
{
    int port;
    return !address || rb_live_parse_address(address, &port, err) || rb_err_prefix(err, "--serve");
}

static bool begin(struct rb_run_serve *s, const char *address, struct rb_err *err)
{
    char token[RB_LIVE_TOKEN_HEX + 1];
    struct rb_live_config config = {
        .token = token, .n_pages = s->source.n_pages, .refresh = refresh, .sent = sent, .ctx = s};
    s->pages = rb_xcalloc((size_t)s->source.n_pages, sizeof *s->pages);
    const bool ok = rb_live_parse_address(address, &config.port, err) && rb_live_make_token(token, err) &&
                    rb_live_server_start(&config, &s->server, err);
    explicit_bzero(token, sizeof token);
    return ok;
}

static void finish(struct rb_run_serve *s)
{
    rb_live_server_stop(s->server);
    s->source.finish(s->source.ctx);
    free(s->pages);
    free(s);
}

struct rb_run_serve *rb_run_serve_begin_with(const char *address, const char *state_dir, const char *id,
                                             rb_run_serve_open_fn *open)
{
    RB_AUTO(rb_buf_finish) struct rb_buf url = RB_BUF_INIT;
    struct rb_err err;
    if (!address)
        return NULL;
    struct rb_run_serve *s = rb_xcalloc(1, sizeof *s);
    if (!open(state_dir, id, &s->source, &err) || !begin(s, address, &err)) {
        rb_warn("the run is not shown as a page: %s", err.message);
        finish(s);
        return NULL;
    }
    rb_live_server_url(s->server, &url);
    rb_info("look at it: %s", rb_buf_str(&url));
    explicit_bzero(url.data, url.len);
    return s;
}

static void wait_for_watcher(struct rb_run_serve *s)
{
    for (int64_t us = 0; us < FAREWELL_US && !atomic_load(&s->was_seen); us += FAREWELL_STEP_US)
        nanosleep(&(struct timespec){.tv_nsec = FAREWELL_STEP_US * 1000}, NULL);
}

void rb_run_serve_end(struct rb_run_serve *s, bool over)
{
    if (!s)
        return;
    atomic_store(&s->over, over);
    if (over && rb_live_server_is_watched(s->server, FAREWELL_US))
        wait_for_watcher(s);
    finish(s);
}
