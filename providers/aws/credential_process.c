// The command of a profile, in words.
#include "providers/aws/credential_process.h"

#include "base/arena.h"
#include "providers/wire/child_answer.h"

#include <string.h>

enum { MAX_WORDS = 64 };

extern char **environ;

// Appends one word and returns what follows it; NULL: an unclosed quote.
static const char *read_word(const char *s, struct rb_buf *word)
{
    char quote = '\0';
    rb_buf_puts(word, "");
    for (; *s && (quote || !strchr(" \t", *s)); s++) {
        if (*s == quote)
            quote = '\0';
        else if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
        else if (*s == '\\' && s[1] && (!quote || (quote == '"' && strchr("\"\\", s[1]))))
            rb_buf_putc(word, *++s);
        else
            rb_buf_putc(word, *s);
    }
    return quote ? NULL : s;
}

static bool split(const char *command, struct rb_arena *arena, char *words[static MAX_WORDS + 1], struct rb_err *err)
{
    int n = 0;
    for (const char *s = command + strspn(command, " \t"); *s; s += strspn(s, " \t")) {
        RB_AUTO(rb_buf_finish) struct rb_buf word = RB_BUF_INIT;
        s = read_word(s, &word);
        if (!s)
            return rb_err_set(err, RB_E_CREDENTIALS_SETTING, "credential_process: a quote is not closed");
        if (n == MAX_WORDS)
            return rb_err_set(err, RB_E_CREDENTIALS_SETTING, "credential_process: more than %d words", MAX_WORDS);
        words[n++] = rb_arena_strdup(arena, word.data);
    }
    words[n] = NULL;
    return n > 0 || rb_err_set(err, RB_E_CREDENTIALS_SETTING, "credential_process: expected a command, got nothing");
}

bool rb_credential_process_run(const char *command, struct rb_buf *out, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    char *words[MAX_WORDS + 1];
    const struct rb_child_question q = {
        .setting = "credential_process",
        .argv = (const char *const *)words,
        .env = environ,
    };
    return split(command, &arena, words, err) && rb_child_answer(&q, out, err);
}
