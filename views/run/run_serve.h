// rbrun --serve: what goes on as pages in a browser, on this machine's loopback, for those who have their address. Journals are
// read as any other looker reads them, in a thread of its own: no run ever waits for it, and when it fails the run goes on
// with a warning.
#ifndef RB_VIEWS_RUN_SERVE_H
#define RB_VIEWS_RUN_SERVE_H

#include "views/run/following.h"

// What is shown. All of it is the server's thread's once it has begun, until it has ended.
struct rb_run_serve_source {
    int n_pages; // views/live/live_server.h
    // A page and its document (rb-live/1) as of now. over: nothing more will happen to any of them. NOT_FOUND: there is nothing
    // to be shown there yet; any other error is a warning, and what was made last stays.
    bool (*make)(void *ctx, int number, bool over, struct rb_buf *page, struct rb_buf *data, struct rb_err *err);
    void (*finish)(void *ctx);
    void *ctx;
};

struct rb_run_serve;

// Before anything is bought: is the address one that may be served on? NULL: nothing is served.
bool rb_run_serve_check(const char *address, struct rb_err *err);

// Prints the URL on stderr, once. NULL: address is NULL, or a warning said why it cannot be served.
struct rb_run_serve *rb_run_serve_begin(const char *address, const char *state_dir, const char *run_id);
// The same for what `open` opens; *out is finished where that fails, too. id: of the run that is shown.
typedef bool rb_run_serve_open_fn(const char *state_dir, const char *id, struct rb_run_serve_source *out,
                                  struct rb_err *err);
struct rb_run_serve *rb_run_serve_begin_with(const char *address, const char *state_dir, const char *id,
                                             rb_run_serve_open_fn *open);
// over: the run has ended, not just this process. Pages that are open get to show how, within seconds.
void rb_run_serve_end(struct rb_run_serve *s, bool over);

// The page and the document of one run, for sources.
bool rb_run_serve_make(struct rb_following *f, bool over, struct rb_buf *page, struct rb_buf *data, struct rb_err *err);

#endif
