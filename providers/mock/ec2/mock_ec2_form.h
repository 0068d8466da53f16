// The parameters of a Query request: `Name=value&Name.1=value`. Every parameter that an action reads is marked, so
// that unknown parameters can be refused. Values live in the arena given.
#ifndef RB_PROVIDERS_MOCK_EC2_FORM_H
#define RB_PROVIDERS_MOCK_EC2_FORM_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct rb_form_field {
    const char *name, *value; // decoded
    bool asked;
};

struct rb_form {
    struct rb_form_field *fields; // [n]
    int n;
};

// Decodes n bytes of application/x-www-form-urlencoded and appends to *form. false: a broken % escape, a NUL, not
// UTF-8, or a name given twice (*out_bad is that piece).
bool rb_form_decode(struct rb_form *form, const char *text, size_t n, struct rb_arena *arena, const char **out_bad);

// NULL: absent.
const char *rb_form_get(struct rb_form *form, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *rb_form_peek(const struct rb_form *form, const char *name); // without asking for it
bool rb_form_has_prefix(const struct rb_form *form, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// The first index of the list PREFIX.N: 1, or 0 as some clients count, which EC2 accepts.
int rb_form_first(const struct rb_form *form, const char *prefix);
// The list PREFIX.1, PREFIX.2, ... up to the first gap; *out_values lives in the arena.
int rb_form_list(struct rb_form *form, const char *prefix, struct rb_arena *arena, const char *const **out_values);
const char *rb_form_first_unasked(const struct rb_form *form); // name, NULL: all were asked for

#endif
