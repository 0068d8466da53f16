// The one error value. Fallible functions return bool and take `struct rb_err *err` last; on failure their
// outputs are untouched. Each level may add one prefix while the error climbs; the command prints it once.
// Programming errors are asserts, never errors.
#ifndef RB_BASE_ERR_H
#define RB_BASE_ERR_H

#include <stdbool.h>

// A code exists only because some caller acts on it.
enum rb_err_code {
    RB_ERR_NONE = 0,
    RB_ERR_INVALID,         // usage or bad input: exit 2
    RB_ERR_IO,              // the operating system or a peer failed: exit 1
    RB_ERR_NOT_FOUND,       // the named thing does not exist: exit 1 (the caller may turn it into a default)
    RB_ERR_INFEASIBLE,      // no plan satisfies the constraints: exit 3
    RB_ERR_STOPPED,         // deadline missed or budget stop while running: exit 4
    RB_ERR_DENIED,          // credentials, permission or quota: exit 5
    RB_ERR_CAPACITY,        // the cloud has no such machine now: exit 6, or the next offer
    RB_ERR_PRICE,           // price missing or too old: exit 7
    RB_ERR_THROTTLED,       // asked to slow down: retry with the same token
    RB_ERR_UNKNOWN_OUTCOME, // sent, no answer: never retried blind, looked up by token first
};

// Where in a user's file something stands. file == NULL: no place known; line 0 / column 0: unknown.
struct rb_place {
    const char *file;
    int line, column; // from 1
};

struct rb_err {
    enum rb_err_code code;
    int line, column;   // 0: unknown
    char file[256];     // "": unknown
    char key[160];      // path of the key, e.g. "resources.instance_types[2]"; "": none
    char message[768];  // one sentence, says what was expected and what to do next; no newline, no trailing dot
};

// Sets code and message (printf style); returns false so that `return rb_err_set(...)` reads well. err may be NULL.
bool rb_err_set(struct rb_err *err, enum rb_err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// As rb_err_set, with the place and the path of the key (key may be NULL).
bool rb_err_set_at(struct rb_err *err, enum rb_err_code code, struct rb_place place, const char *key,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

// Puts "prefix: " before the message; keeps code and place. Returns false.
bool rb_err_prefix(struct rb_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// The exit code of a command that ends with this error (design: 1, 2, 3, 4, 5, 6 or 7).
int rb_err_exit_code(const struct rb_err *err);

// Lower-case name used in JSON, e.g. "invalid", "unknown_outcome".
const char *rb_err_code_name(enum rb_err_code code);

// Prints "file:line:column: key: message" to stderr, or one rb-error/1 JSON document to stdout if json.
void rb_err_print(const struct rb_err *err, const char *tool, bool json);

#endif
