// Addresses behind the token: "/" the list; "/run/PLACE/RUN/" the page of a run, with "data.json" beside it while the
// run goes on; "/compare/PLACE/RUN/PLACE/RUN/". PLACE is 0 for this machine's own runs, and k for the k-th shared
// folder.
#include "views/run/browse.h"

#include "base/clock.h"
#include "base/errors/log.h"
#include "base/file.h"
#include "executor/journal/run_dir.h"
#include "executor/report/shared_report.h"
#include "views/live/live_server.h"
#include "views/pages/compare_page.h"
#include "views/pages/run_page.h"
#include "views/pages/runs_page.h"
#include "views/run/compare.h"
#include "views/run/run_serve.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LEAST_AGE_US = 1000000, // of the list before it is read again
    SHARE = 20,             // reading it takes at most this part of the time
    MOST_FOLLOWED = 4,      // runs whose live pages are open
};

// A live page asks again and again, and its forecast needs more than one look.
struct followed {
    char run[128]; // "": free
    struct rb_following following;
    int64_t asked_at_us;
};

struct browse {
    const struct rb_run_sources *sources;
    struct rb_run_list list;
    bool was_read;
    int64_t read_at_us, took_us; // by the monotonic clock
    struct followed followed[MOST_FOLLOWED];
};

// ---- addresses

static int place_of(const struct rb_run_sources *sources, const char *from)
{
    for (int i = 0; from && i < sources->n_folders; i++)
        if (strcmp(sources->folders[i], from) == 0)
            return i + 1;
    return 0;
}

// "0/bert-20260801-120000-abcdef/..." -> the run, and *path behind it. A name that is none of a run is refused, so
// nothing outside a folder can be named.
static bool take_ref(const struct rb_run_sources *sources, const char **path, char name[static 128],
                     struct rb_run_ref *out)
{
    char *end;
    const long place = **path >= '0' && **path <= '9' ? strtol(*path, &end, 10) : -1;
    if (place < 0 || place > sources->n_folders || (place == 0 && sources->without_own) || *end != '/')
        return false;
    const size_t n = strcspn(end + 1, "/");
    if (n >= 128 || end[1 + n] != '/')
        return false;
    memcpy(name, end + 1, n);
    name[n] = '\0';
    *path = end + 1 + n + 1;
    *out = (struct rb_run_ref){place ? sources->folders[place - 1] : NULL, name};
    return rb_shared_report_is_name(name);
}

// A run of this machine is named in full here: the beginning of a name would be another run tomorrow.
static bool is_listed(const struct browse *b, const struct rb_run_ref *ref)
{
    for (int i = 0; i < b->list.n; i++) {
        const struct rb_run_row *row = &b->list.rows[i];
        if (strcmp(row->run, ref->run) == 0 && place_of(b->sources, row->from) == place_of(b->sources, ref->from))
            return true;
    }
    return false;
}

// ---- the list

// What cannot be read has a row, and no page.
static const char **addresses_of(const struct browse *b)
{
    const char **out = rb_xcalloc((size_t)b->list.n + 1, sizeof *out);
    for (int i = 0; i < b->list.n; i++) {
        const struct rb_run_row *row = &b->list.rows[i];
        if (!row->error)
            out[i] = rb_arena_printf((struct rb_arena *)&b->list.arena, "run/%d/%s/", place_of(b->sources, row->from),
                                     row->run);
    }
    return out;
}

static bool read_list(struct browse *b, struct rb_err *err)
{
    struct rb_run_list newer;
    const int64_t began_us = rb_clock_monotonic_us();
    if (!rb_run_list_read(b->sources, &b->list, &newer, err)) {
        rb_run_list_finish(&newer);
        return false;
    }
    rb_run_list_finish(&b->list);
    b->list = newer;
    b->was_read = true;
    b->read_at_us = rb_clock_monotonic_us();
    b->took_us = b->read_at_us - began_us;
    return true;
}

static bool is_fresh(const struct browse *b)
{
    const int64_t age_us = b->took_us * SHARE > LEAST_AGE_US ? b->took_us * SHARE : LEAST_AGE_US;
    return b->was_read && rb_clock_monotonic_us() - b->read_at_us < age_us;
}

static bool make_list(void *ctx, int number, struct rb_buf *page, struct rb_buf *data)
{
    struct browse *b = ctx;
    struct rb_err err;
    (void)number;
    if (is_fresh(b))
        return false;
    if (!read_list(b, &err)) {
        rb_warn("the list is not updated: %s", err.message);
        return false;
    }
    RB_AUTO(rb_auto_free) const char **addresses = addresses_of(b);
    rb_runs_page_write(&b->list, addresses, true, page);
    return rb_runs_page_live(&b->list, addresses, data, &err);
}

// ---- runs

static void write_error(const char *title, const struct rb_err *err, struct rb_buf *out)
{
    struct rb_page p;
    rb_page_begin(&p, title, err->message, true, false, out);
    rb_page_end(&p, "{}");
}

static void let_go(struct followed *f)
{
    if (f->run[0])
        rb_following_finish(&f->following);
    f->run[0] = '\0';
}

// The one that was asked for the longest time ago makes room.
static struct followed *follow(struct browse *b, const char *run, struct rb_err *err)
{
    struct followed *oldest = &b->followed[0];
    for (int i = 0; i < MOST_FOLLOWED; i++) {
        struct followed *f = &b->followed[i];
        oldest = !f->run[0] || f->asked_at_us < oldest->asked_at_us ? f : oldest;
        if (strcmp(f->run, run) != 0)
            continue;
        f->asked_at_us = rb_clock_monotonic_us();
        return f;
    }
    let_go(oldest);
    oldest->asked_at_us = rb_clock_monotonic_us();
    if (!rb_following_open(&oldest->following, b->sources->state_dir, run, err)) {
        rb_following_finish(&oldest->following);
        oldest->asked_at_us = 0;
        return NULL;
    }
    strcpy(oldest->run, run);
    return oldest;
}

// Does some process execute it? Then its page is a live one, as with --serve.
static bool is_live(const struct rb_run_sources *sources, const struct rb_run_ref *ref)
{
    char root[4096];
    return !ref->from && rb_run_dir_root(sources->state_dir, root, sizeof root, NULL) &&
           rb_run_is_carried_out(root, ref->run);
}

static bool make_live(struct browse *b, const char *run, bool wants_data, struct rb_buf *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf other = RB_BUF_INIT;
    struct followed *f = follow(b, run, err);
    if (!f)
        return false;
    const bool over = !is_live(b->sources, &(struct rb_run_ref){NULL, run});
    const bool ok = rb_run_serve_make(&f->following, over, wants_data ? &other : out, wants_data ? out : &other, err);
    if (!ok || over)
        let_go(f);
    return ok;
}

static bool make_run(struct browse *b, const struct rb_run_ref *ref, struct rb_buf *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT;
    if (is_live(b->sources, ref))
        return make_live(b, ref->run, false, out, err);
    return rb_run_ref_document(b->sources->state_dir, ref, &document, err) &&
           rb_run_page_write(rb_buf_str(&document), document.len, false, out, err);
}

static bool show_run(struct browse *b, const char *path, struct rb_buf *out, bool *out_is_json)
{
    struct rb_run_ref ref;
    struct rb_err err;
    char name[128];
    if (!take_ref(b->sources, &path, name, &ref) || !is_listed(b, &ref))
        return false;
    *out_is_json = strcmp(path, "data.json") == 0;
    if (*out_is_json)
        return !ref.from && make_live(b, name, true, out, &err);
    if (path[0])
        return false;
    if (!make_run(b, &ref, out, &err)) {
        rb_buf_clear(out);
        write_error("This run cannot be shown", &err, out);
    }
    return true;
}

static bool make_comparison(struct browse *b, const struct rb_run_ref two[static 2], struct rb_buf *out,
                            struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT;
    char addresses[2][192];
    for (int i = 0; i < 2; i++)
        snprintf(addresses[i], sizeof addresses[i], "../../../../../run/%d/%s/", place_of(b->sources, two[i].from),
                 two[i].run);
    return rb_run_refs_compare(b->sources->state_dir, two, &document, err) &&
           rb_compare_page_write(rb_buf_str(&document), document.len, (const char *const[]){addresses[0], addresses[1]},
                                 out, err);
}

static bool show_comparison(struct browse *b, const char *path, struct rb_buf *out)
{
    struct rb_run_ref two[2];
    struct rb_err err;
    char names[2][128];
    for (int i = 0; i < 2; i++)
        if (!take_ref(b->sources, &path, names[i], &two[i]) || !is_listed(b, &two[i]))
            return false;
    if (path[0])
        return false;
    if (!make_comparison(b, two, out, &err)) {
        rb_buf_clear(out);
        write_error("These runs cannot be compared", &err, out);
    }
    return true;
}

static bool make_other(void *ctx, const char *path, struct rb_buf *out, bool *out_is_json)
{
    struct browse *b = ctx;
    struct rb_err err;
    if (!b->was_read && !read_list(b, &err)) // an address that was kept from before
        return false;
    if (strncmp(path, "/run/", 5) == 0)
        return show_run(b, path + 5, out, out_is_json);
    return strncmp(path, "/compare/", 9) == 0 && show_comparison(b, path + 9, out);
}

// ---- life

static bool start(struct browse *b, const char *address, struct rb_live_server **out, struct rb_err *err)
{
    char token[RB_LIVE_TOKEN_HEX + 1];
    struct rb_live_config config = {.token = token, .n_pages = 1, .refresh = make_list, .other = make_other, .ctx = b};
    const bool ok = rb_live_parse_address(address, &config.port, err) && rb_live_make_token(token, err) &&
                    rb_live_server_start(&config, out, err);
    explicit_bzero(token, sizeof token);
    return ok;
}

static void finish(struct browse *b)
{
    for (int i = 0; i < MOST_FOLLOWED; i++)
        let_go(&b->followed[i]);
    rb_run_list_finish(&b->list);
}

bool rb_browse_serve(const struct rb_run_sources *sources, const char *address, struct rb_err *err)
{
    RB_AUTO(finish) struct browse b = {.sources = sources};
    RB_AUTO(rb_buf_finish) struct rb_buf url = RB_BUF_INIT;
    struct rb_live_server *server;
    sigset_t ends;
    int which;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    if (!read_list(&b, err) || !start(&b, address, &server, err))
        return false;
    b.was_read = false; // what was found wrong is an error before anything is served; the page reads the list itself
    rb_live_server_url(server, &url);
    rb_info("look at it: %s", rb_buf_str(&url));
    explicit_bzero(url.data, url.len);
    sigwait(&ends, &which);
    rb_live_server_stop(server);
    return true;
}

static const char **relative_to_reports(const struct rb_run_list *list, const char *path)
{
    const char **out = rb_xcalloc((size_t)list->n + 1, sizeof *out);
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) : 1;
    for (int i = 0; i < list->n; i++) {
        const struct rb_run_row *row = &list->rows[i];
        const char *dir = slash ? path : ".";
        if (row->from && !row->error && strlen(row->from) == n && strncmp(row->from, dir, n) == 0)
            out[i] = rb_arena_printf((struct rb_arena *)&list->arena, "%s/report.html", row->run);
    }
    return out;
}

bool rb_browse_save(const struct rb_run_sources *sources, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_run_list_finish) struct rb_run_list list = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    if (!rb_run_list_read(sources, NULL, &list, err))
        return false;
    RB_AUTO(rb_auto_free) const char **addresses = relative_to_reports(&list, path);
    rb_runs_page_write(&list, addresses, false, &page);
    // What is shared already may be read by others here, too; a list of own runs is private.
    const mode_t before = umask(sources->without_own ? 022 : 077);
    const bool ok = rb_write_file(path, rb_buf_str(&page), page.len, err);
    umask(before);
    if (!ok)
        return false;
    rb_info("wrote %s", path);
    return true;
}
