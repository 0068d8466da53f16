// Splits Python source into tokens, enough to find calls, literals and assignments without running it. Comments and line ends
// within brackets are left out. It never fails: text that is not Python gives tokens as well.
// Source: the Python language reference, 2 "Lexical analysis".
#ifndef RB_PROFILES_PYTHON_TEXT_H
#define RB_PROFILES_PYTHON_TEXT_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

enum rb_py_kind { RB_PY_NAME, RB_PY_NUMBER, RB_PY_STRING, RB_PY_OP, RB_PY_NEWLINE, RB_PY_END };

struct rb_py_token {
    enum rb_py_kind kind;
    const char *at; // in the source, which must outlive the tokens
    size_t n;       // of a string: with its prefix and quotes. Of an operator: 1, but for == != <= >= ** // -> := and their like
    int line;       // from 1
    int indent;     // blanks before the first token of its line
    int match;      // of a bracket: the index of the other one; if there is none, of the END
};

struct rb_py_text {
    const struct rb_py_token *tokens; // [n + 1], the last one an END
    int n;
};

// Owns: the tokens are the arena's.
void rb_py_read(const char *source, struct rb_arena *arena, struct rb_py_text *out);

bool rb_py_is(const struct rb_py_token *t, const char *text);
// The text of a string literal without prefix and quotes, with escapes of characters resolved (not \x, \u and \N).
// NULL: it is no string, one of bytes, or has no end. An f-string keeps its braces.
const char *rb_py_string(const struct rb_py_token *t, struct rb_arena *arena);
bool rb_py_is_fstring(const struct rb_py_token *t);

// Tokens first..end - 1.
struct rb_py_span {
    int first, end;
};

// One argument of a call, or one item of a list.
struct rb_py_argument {
    const struct rb_py_token *name; // of name=value; NULL: by position
    struct rb_py_span value;
};

// The arguments between the bracket at `open` and its match. *out [the number of them], the arena's.
int rb_py_arguments(const struct rb_py_text *text, int open, struct rb_arena *arena, const struct rb_py_argument **out);

// The source of a span, as written but on one line; NULL if it is empty.
const char *rb_py_source(const struct rb_py_text *text, struct rb_py_span span, struct rb_arena *arena);

#endif
