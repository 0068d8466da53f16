// Reads the text of a shell command without running it: which variables it uses and how, and the words of its commands. It
// knows the parts of POSIX sh that commands in job files use: quotes, escapes, comments, $(...), ${...}, $((...)), backquotes,
// here-documents and case patterns. It never fails.
// Source: POSIX.1-2017, XCU 2.2 (quoting), 2.3 (token recognition), 2.6 (expansions), 2.7.4 (here-documents).
#ifndef RB_PROFILES_SHELL_TEXT_H
#define RB_PROFILES_SHELL_TEXT_H

#include "base/arena.h"
#include "base/text/buf.h"

#include <stdbool.h>
#include <stddef.h>

// $NAME or ${NAME...}, anywhere, also in single quotes and here-documents, but not in comments.
struct rb_shell_use {
    const char *name;
    size_t at, n;    // bytes of the command that it takes, the $ included
    bool is_word;    // unquoted and a word by itself: the shell would split it into words. Not in here-documents and backquotes,
                     // not the target of a redirection or the subject of `case`, and not of eval and ssh, which hand their
                     // words to a shell once more
    bool is_default; // ${NAME-...}, ${NAME:-...} and similar forms, which have a value if it is not set
};

// A word of a command that is not within a substitution. Assignments, redirections and reserved words are left out.
struct rb_shell_word {
    size_t at, n;   // as written, with its quotes
    bool is_first;  // the name of the command
};

struct rb_shell_text {
    const struct rb_shell_use *uses; // in order, [n_uses]
    int n_uses;
    const struct rb_shell_word *words; // in order, [n_words]
    int n_words;
    bool is_whole; // every quote and bracket is closed; otherwise the positions are guesses
};

// Owns: the arrays and names are the arena's.
void rb_shell_read(const char *command, struct rb_arena *arena, struct rb_shell_text *out);

// Appends the command with `words` in place of every use of the variable that is a word. A command that is not whole is
// appended unchanged. words: shell words, each quoted as necessary; empty for none.
void rb_shell_replace(const char *command, const char *variable, const char *words, struct rb_buf *out);

// The value of a word that the shell does not expand: without quotes and escapes. NULL: the shell would expand it.
const char *rb_shell_plain(const char *command, struct rb_shell_word word, struct rb_arena *arena);

#endif
