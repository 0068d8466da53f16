// Any text as a Python script: its tokens lie in it, in order, and brackets match in pairs; options and metrics have names and
// lines of it.
#include "fuzz.h"
#include "require.h"

#include "profiles/script/script.h"

#include <string.h>

static void check_token(const struct rb_py_text *text, int i, const char *source, size_t len)
{
    const struct rb_py_token *t = &text->tokens[i];
    require(t->at >= source && t->n <= len - (size_t)(t->at - source));
    require(i == text->n ? t->kind == RB_PY_END && t->n == 0 : t->kind != RB_PY_END && t->n > 0);
    require(t->match >= 0 && t->match <= text->n && t->indent >= 0);
    require(t->match == text->n || text->tokens[t->match].match == i);
    require(t->line >= (i ? t[-1].line : 1) && (i == 0 || t->at >= t[-1].at + t[-1].n));
}

static void check_lines(const struct rb_py_text *text, const char *source)
{
    int line = 1;
    for (int i = 0; i <= text->n; i++) {
        for (; source < text->tokens[i].at; source++)
            line += *source == '\n';
        require(text->tokens[i].line == line);
    }
}

static void check_arguments(const struct rb_py_text *text, int open, struct rb_arena *arena)
{
    const struct rb_py_argument *arguments;
    const int n = rb_py_arguments(text, open, arena, &arguments);
    int end = open;
    for (int i = 0; i < n; i++) {
        const struct rb_py_span span = arguments[i].value;
        require(span.first > end && span.first <= span.end && span.end <= text->tokens[open].match);
        rb_py_source(text, span, arena);
        end = span.end;
    }
}

static void check_text(const struct rb_py_text *text, const char *source, struct rb_arena *arena)
{
    const size_t len = strlen(source);
    int n_calls = 0;
    for (int i = 0; i <= text->n; i++) {
        const struct rb_py_token *t = &text->tokens[i];
        check_token(text, i, source, len);
        const char *string = rb_py_string(t, arena);
        require(!string || (t->kind == RB_PY_STRING && strlen(string) <= t->n));
        if (t->kind == RB_PY_OP && strchr("([{", *t->at) && n_calls++ < 20)
            check_arguments(text, i, arena);
    }
    check_lines(text, source);
}

static void check_script(const struct rb_script *s)
{
    const int last = s->text.tokens[s->text.n].line;
    for (int i = 0; i < s->n_options; i++) {
        require(s->options[i].name && s->options[i].name[0] && s->options[i].position >= 0);
        require(s->options[i].line >= 1 && s->options[i].line <= last);
        require(!s->options[i].is_alias || i > 0);
    }
    for (int i = 0; i < s->n_metrics; i++) {
        const struct rb_script_metric *m = &s->metrics[i];
        require(m->name && m->name[0] && m->shown && m->line >= 1 && m->line <= last);
        require(m->goal >= -1 && m->goal <= 1 && m->goal == rb_script_goal(m->name));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    RB_AUTO(rb_auto_free) char *source = rb_xcalloc(n + 1, 1);
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_script script;
    memcpy(source, bytes, n);
    rb_arena_init(&arena);
    rb_script_read(source, &arena, &script);
    check_text(&script.text, source, &arena);
    check_script(&script);
    return 0;
}
