// struct rb_err is the only error value. Functions that can fail return bool and take `struct rb_err *err` last; on failure
// their outputs are untouched. Each caller may add one prefix; the command prints the error once. Programming errors are
// asserts, never errors.
#ifndef RB_BASE_ERR_H
#define RB_BASE_ERR_H

#include "base/errors/err_catalog.h"

#include <stdbool.h>

struct rb_buf;

// A place in a user's file. file == NULL: no place known; line 0 / column 0: unknown.
struct rb_place {
    const char *file;
    int line, column; // from 1
};

struct rb_err {
    enum rb_err_code code; // the class: what callers act on
    int number;            // the row of the catalogue; 0: only the class is known
    int line, column;   // 0: unknown
    char file[256];     // "": unknown
    char key[160];      // path of the key, e.g. "resources.instance_types[2]"; "": none
    char message[768];  // one sentence: what was expected and what to do next; no newline, no trailing dot
};

// Sets number, class and message (printf style); returns false so that `return rb_err_set(...)` reads well. err may be
// NULL. `number` is an enum rb_err_number; an enum rb_err_code stands for the general number of that class.
bool rb_err_set(struct rb_err *err, int number, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// As rb_err_set, with the place and the path of the key (key may be NULL).
bool rb_err_set_at(struct rb_err *err, int number, struct rb_place place, const char *key,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

// Puts "prefix: " before the message; keeps number and place. Returns false.
bool rb_err_prefix(struct rb_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Gives an error another number, and with it another class: only the caller knows what a reply means. Message and place
// stay.
void rb_err_renumber(struct rb_err *err, int number);

// The number of an error; the general number of its class where it has none of its own.
int rb_err_number(const struct rb_err *err);

// The exit code of a command that ends with this error (base/errors/exit_codes.h).
int rb_err_exit_code(const struct rb_err *err);

// Lower-case name used in JSON, e.g. "invalid", "unknown_outcome".
const char *rb_err_code_name(enum rb_err_code code);

// Appends "file:line:column: key: message [RB1112]".
void rb_err_write(const struct rb_err *err, struct rb_buf *out);
void rb_err_write_json(const struct rb_err *err, struct rb_buf *out); // one rb-error/1 document, without a newline
// Prints "tool: " and that to stderr, or one rb-error/1 JSON document to stdout if json.
void rb_err_print(const struct rb_err *err, const char *tool, bool json);

#endif
