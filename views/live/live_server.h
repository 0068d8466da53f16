// Pages and their newer documents over HTTP, on loopback, for whoever knows the token. A thread of its own answers from what
// it was given last; it holds no file and nothing outlives the process. Knows nothing of what it shows.
#ifndef RB_VIEWS_LIVE_SERVER_H
#define RB_VIEWS_LIVE_SERVER_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

#define RB_LIVE_TOKEN_HEX 32 // 128 bits: cannot be guessed over a socket

struct rb_live_config {
    int port;          // 0: any that is free
    const char *token; // [RB_LIVE_TOKEN_HEX] hexadecimal digits
    int n_pages;       // page 0 is at "/TOKEN/", page k at "/TOKEN/k/"
    // Called by the server's thread before an answer. True: *page and *data, empty before, are what to answer with from now
    // on. False: what was given last still holds; where nothing was, there is no such page yet.
    bool (*refresh)(void *ctx, int number, struct rb_buf *page, struct rb_buf *data);
    // Called by the server's thread when what was given last has been sent to somebody, all of it.
    void (*sent)(void *ctx, int number);
    void *ctx;
};

struct rb_live_server;

// "127.0.0.1:8000", "localhost:0", "[::1]:8000" -> port. Anything else is an error that says how to look from elsewhere:
// the pages are for this machine's loopback only. ([::1] is listened to as 127.0.0.1.)
bool rb_live_parse_address(const char *text, int *out_port, struct rb_err *err);

bool rb_live_server_start(const struct rb_live_config *config, struct rb_live_server **out, struct rb_err *err);
// Where the page is, token and all: for the terminal of its owner and nobody else.
void rb_live_server_url(const struct rb_live_server *s, struct rb_buf *out);
bool rb_live_server_is_watched(struct rb_live_server *s); // has the document been asked for since this was last asked?
void rb_live_server_stop(struct rb_live_server *s); // joins the thread; NULL is fine

#endif
