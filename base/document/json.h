// Writes canonical JSON: the caller's key order, no spaces unless pretty, integers exact, doubles in the shortest
// form that reads back to the same value, strings escaped as RFC 8259 asks (control bytes, invalid UTF-8 replaced).
#ifndef RB_BASE_JSON_H
#define RB_BASE_JSON_H

#include "base/text/buf.h"
#include "base/document/doc.h"

#include <stdbool.h>
#include <stdint.h>

// Begins as {.out = &buf} or {.out = &buf, .pretty = true}.
struct rb_json {
    struct rb_buf *out; // borrowed
    bool pretty;        // two-space indent, one member a line
    int depth;
    bool need_comma, after_key;
};

void rb_json_init(struct rb_json *j, struct rb_buf *out, bool pretty);
void rb_json_begin_object(struct rb_json *j);
void rb_json_end_object(struct rb_json *j);
void rb_json_begin_array(struct rb_json *j);
void rb_json_end_array(struct rb_json *j);
void rb_json_key(struct rb_json *j, const char *key);
void rb_json_string(struct rb_json *j, const char *s); // NULL -> null
void rb_json_int(struct rb_json *j, int64_t v);
void rb_json_double(struct rb_json *j, double v);      // not finite: assert
void rb_json_bool(struct rb_json *j, bool v);
void rb_json_null(struct rb_json *j);
void rb_json_node(struct rb_json *j, const struct rb_node *node); // a parsed value, as it was

// Writes what a template describes; the parts of one document may come from several calls and other functions.
//   {  }  [  ]   begin and end an object or an array
//   name:        a key; 'text %s': and %s: are keys, too
//   'text %s'    a string with %s, %d, %jd, %ju and %.*s replaced; it holds no single quote
//   %s           a string; where it is NULL, neither it nor the key before it is written
//   %d %jd %g    an int, an int64_t, a double; %i is a bool
//   %s|null %jd|null %g|null   null in place of NULL, of a negative number, of one that is not finite
//   12 true false null   literals
// Spaces and commas mean nothing. Example: rb_json_put(j, "{kind: 'instance', id: '%ju', name: %s, tags: [%s]}", ...)
void rb_json_put(struct rb_json *j, const char *template, ...) __attribute__((format(printf, 2, 3)));

// A key, and the beginning of its object or list.
void rb_json_kobject(struct rb_json *j, const char *key);
void rb_json_karray(struct rb_json *j, const char *key);
// A key and its value.
void rb_json_kstrings(struct rb_json *j, const char *key, const char *const *items, int n);
void rb_json_kstring(struct rb_json *j, const char *key, const char *s);
void rb_json_kint(struct rb_json *j, const char *key, int64_t v);
void rb_json_kint_or_null(struct rb_json *j, const char *key, int64_t v); // null where v is negative: unknown, or none
void rb_json_kdouble(struct rb_json *j, const char *key, double v);
void rb_json_kdouble_or_null(struct rb_json *j, const char *key, double v); // null where v is not finite
void rb_json_kbool(struct rb_json *j, const char *key, bool v);

#endif
