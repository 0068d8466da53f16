// rbrun --serve: shows runs in progress as pages in a browser, on this machine's loopback, to those who have the
// address. It reads journals like any other reader, in a thread of its own: no run ever waits for it. If it fails, the
// run continues with a warning.
#ifndef RB_VIEWS_RUN_SERVE_H
#define RB_VIEWS_RUN_SERVE_H

#include "views/run/following.h"

// What is shown. All of it belongs to the server's thread from its begin to its end.
struct rb_run_serve_source {
    int n_pages; // views/live/live_server.h
    // Makes a page and its document (rb-live/1) as of now. over: nothing more will happen to any of them. NOT_FOUND:
    // there is nothing to show yet; any other error is a warning, and the last content stays.
    bool (*make)(void *ctx, int number, bool over, struct rb_buf *page, struct rb_buf *data, struct rb_err *err);
    void (*finish)(void *ctx);
    void *ctx;
};

struct rb_run_serve;

// Before anything is launched: may the server use this address? NULL: nothing is served.
bool rb_run_serve_check(const char *address, struct rb_err *err);

// Prints the URL on stderr, once. NULL: address is NULL, or a warning explained why it cannot be served.
struct rb_run_serve *rb_run_serve_begin(const char *address, const char *state_dir, const char *run_id);
// The same for the source that `open` opens; *out is finished also if opening fails. id: of the run that is shown.
typedef bool rb_run_serve_open_fn(const char *state_dir, const char *id, struct rb_run_serve_source *out,
                                  struct rb_err *err);
struct rb_run_serve *rb_run_serve_begin_with(const char *address, const char *state_dir, const char *id,
                                             rb_run_serve_open_fn *open);
// over: the run has ended, not just this process. Open pages show its end within seconds.
void rb_run_serve_end(struct rb_run_serve *s, bool over);

// Makes the page and the document of one run, for sources.
bool rb_run_serve_make(struct rb_following *f, bool over, struct rb_buf *page, struct rb_buf *data, struct rb_err *err);

#endif
