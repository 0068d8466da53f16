// Any text as the `run` of a job: what is found in it lies in it, in order; with words put in place of $RB_ARGS it is as whole as
// before, and only those words are new.
#include "fuzz.h"
#include "require.h"

#include "profiles/script/run_script.h"
#include "profiles/script/shell_text.h"

#include <string.h>

static const char words[] = "'--lr=0.1 x' '--n=3'";

static bool is_replaced(const struct rb_shell_use *use)
{
    return use->is_word && strcmp(use->name, "RB_ARGS") == 0;
}

static void check_uses(const char *command, const struct rb_shell_text *text)
{
    const size_t len = strlen(command);
    size_t before = 0, end = 0;
    for (int i = 0; i < text->n_uses; i++) {
        const struct rb_shell_use *use = &text->uses[i];
        require(use->at < len && use->n <= len - use->at && use->n > strlen(use->name));
        require(command[use->at] == '$' && use->name[0] && strstr(command + use->at, use->name));
        require(i == 0 || use->at > before);
        require(!use->is_word || use->at >= end); // words do not overlap
        before = use->at;
        end = use->is_word ? use->at + use->n : end;
    }
}

static void check_words(const char *command, const struct rb_shell_text *text, struct rb_arena *arena)
{
    const size_t len = strlen(command);
    size_t end = 0;
    for (int i = 0; i < text->n_words; i++) {
        const struct rb_shell_word *word = &text->words[i];
        require(word->n > 0 && word->at >= end && word->at < len && word->n <= len - word->at);
        const char *plain = rb_shell_plain(command, *word, arena);
        require(!plain || strlen(plain) <= word->n);
        end = word->at + word->n;
    }
}

// Piece by piece: what was, and the words between.
static void check_replaced(const char *command, const struct rb_shell_text *text, const char *got)
{
    size_t done = 0;
    for (int i = 0; i < text->n_uses && text->is_whole; i++) {
        const struct rb_shell_use *use = &text->uses[i];
        if (!is_replaced(use))
            continue;
        require(strncmp(got, command + done, use->at - done) == 0);
        got += use->at - done;
        require(strncmp(got, words, sizeof words - 1) == 0);
        got += sizeof words - 1;
        done = use->at + use->n;
    }
    require(strcmp(got, command + done) == 0);
}

static void check_read_again(const struct rb_shell_text *text, const char *got, struct rb_arena *arena)
{
    struct rb_shell_text again;
    int n = 0;
    rb_shell_read(got, arena, &again);
    require(again.is_whole);
    for (int i = 0; i < text->n_uses; i++)
        n += is_replaced(&text->uses[i]);
    require(again.n_uses == text->n_uses - n);
    for (int i = 0; i < again.n_uses; i++)
        require(!is_replaced(&again.uses[i]));
}

static void check_scripts(const char *command, const struct rb_shell_text *text, struct rb_arena *arena)
{
    const struct rb_run_script *scripts;
    const int n = rb_run_scripts(command, text, arena, &scripts);
    for (int i = 0; i < n; i++) {
        const struct rb_run_script *s = &scripts[i];
        require(s->path[0] && s->written[0] && s->first <= s->at && s->at < s->end && s->end <= strlen(command));
    }
    rb_run_brings_files(command, text, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    RB_AUTO(rb_auto_free) char *command = rb_xcalloc(n + 1, 1);
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    RB_AUTO(rb_buf_finish) struct rb_buf got = RB_BUF_INIT;
    struct rb_shell_text text;
    memcpy(command, bytes, n);
    rb_arena_init(&arena);
    rb_shell_read(command, &arena, &text);
    check_uses(command, &text);
    check_words(command, &text, &arena);
    check_scripts(command, &text, &arena);
    rb_shell_replace(command, "RB_ARGS", words, &got);
    check_replaced(command, &text, rb_buf_str(&got));
    if (text.is_whole)
        check_read_again(&text, rb_buf_str(&got), &arena);
    return 0;
}
