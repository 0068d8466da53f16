// Serves pages and their newer documents over HTTP, on loopback, to clients that know the token. A thread of its own
// answers from the last content it was given. It holds no file, and nothing outlives the process. It knows nothing of
// what the pages show.
#ifndef RB_VIEWS_LIVE_SERVER_H
#define RB_VIEWS_LIVE_SERVER_H

#include "base/text/buf.h"
#include "base/errors/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RB_LIVE_TOKEN_HEX 32 // 128 bits: cannot be guessed over a socket

struct rb_live_config {
    int port;          // 0: any that is free
    const char *token; // [RB_LIVE_TOKEN_HEX] hexadecimal digits
    int n_pages;       // page 0 is at "/TOKEN/", page k at "/TOKEN/k/"
    // Called by the server's thread before an answer. True: *page and *data, which are passed in empty, are the content
    // from now on. False: the last content still holds; if there was none, the page does not exist yet.
    bool (*refresh)(void *ctx, int number, struct rb_buf *page, struct rb_buf *data);
    // Called by the server's thread when the last content has been sent completely to a client; may be NULL.
    void (*sent)(void *ctx, int number);
    // Called by the server's thread for every other path behind the token, "/run/...", decoded. False: there is no such
    // page. True: *out, which is passed in empty, is the answer; *out_is_json: it is no page. NULL: there are no others.
    bool (*other)(void *ctx, const char *path, struct rb_buf *out, bool *out_is_json);
    void *ctx;
};

// Makes a token from the operating system's random numbers. The caller overwrites it when the server has it.
bool rb_live_make_token(char out[static RB_LIVE_TOKEN_HEX + 1], struct rb_err *err);

struct rb_live_server;

// "127.0.0.1:8000", "localhost:0", "[::1]:8000" -> port. Anything else is an error that explains how to look from
// another machine: the pages are for this machine's loopback only. ([::1] is listened to as 127.0.0.1.)
bool rb_live_parse_address(const char *text, int *out_port, struct rb_err *err);

bool rb_live_server_start(const struct rb_live_config *config, struct rb_live_server **out, struct rb_err *err);
// The page's address with its token: only for the terminal of its owner.
void rb_live_server_url(const struct rb_live_server *s, struct rb_buf *out);
bool rb_live_server_is_watched(struct rb_live_server *s, int64_t within_us); // has a client asked for the document?
void rb_live_server_stop(struct rb_live_server *s); // joins the thread; NULL is fine

#endif
