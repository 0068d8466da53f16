#include "profiles/script/script_pattern.h"

#include "base/text/buf.h"
#include "base/text/closest.h"

#include <ctype.h>
#include <string.h>

#define MARK RB_SCRIPT_MARK

enum { LONGEST = 480, MOST_NAMES = 8 }; // rb_metric_pattern_check allows a little more

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// The word before a value, in small letters: "Val Loss: MARK" -> loss. "": there is none.
static const char *word_before(const char *line, const char *end, struct rb_arena *arena)
{
    while (end > line && strchr(" \t:=([#", end[-1]))
        end--;
    const char *start = end;
    while (start > line && is_word_byte(start[-1]))
        start--;
    char *word = rb_arena_strndup(arena, start, (size_t)(end - start));
    for (char *c = word; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return word;
}

static bool counts_epochs(const char *word)
{
    static const char *const names[] = {"epoch", "epochs", "ep", NULL};
    return rb_is_one_of(word, names);
}

static bool counts_steps(const char *word)
{
    static const char *const names[] = {"step",       "steps", "iter",        "iters", "iteration",
                                        "iterations", "round", "global_step", NULL};
    return rb_is_one_of(word, names);
}

static bool is_name(const char *word)
{
    return isalpha((unsigned char)*word) && strlen(word) < 40;
}

struct maker {
    const char *line, *mark, *name;
    struct rb_arena *arena;
    struct rb_buf out;
    const char *names[MOST_NAMES];
    int n_names;
    size_t useful; // bytes of out up to the last value that has a name, and what follows it
    bool counts, touched;
    bool begins_with_epoch; // a count at the beginning of the line is that of epochs
};

static void put_literal(struct maker *m, char c)
{
    if (c == '{' || c == '}')
        rb_buf_putc(&m->out, c);
    rb_buf_putc(&m->out, iscntrl((unsigned char)c) ? ' ' : c);
}

static bool is_taken(const struct maker *m, const char *name)
{
    for (int i = 0; i < m->n_names; i++)
        if (strcmp(m->names[i], name) == 0)
            return true;
    return false;
}

static void put_named(struct maker *m, const char *name)
{
    m->names[m->n_names++] = name;
    rb_buf_printf(&m->out, "{%s}", name);
    m->useful = m->out.len;
}

// "Test set: Accuracy: 9/10 (90%)": the share has the name before the count, in short.
static const char *share_name(const struct maker *m, const char *count)
{
    const char *word = count ? word_before(m->line, count, m->arena) : "";
    return strncmp(word, "acc", 3) == 0 ? "acc" : word;
}

// The word before distinguishes a validation loss from a training loss.
static const char *value_name(const struct maker *m, const char *at)
{
    const char *word = word_before(m->line, at, m->arena);
    const char *start = at;
    while (start > m->line && !is_word_byte(start[-1]))
        start--;
    start -= (size_t)(start - m->line) >= strlen(word) ? strlen(word) : 0;
    const char *before = *word ? word_before(m->line, start, m->arena) : "";
    static const char *const qualifiers[] = {"train", "training", "val", "valid", "validation", "test", "eval", NULL};
    const bool beside = start > m->line && start[-1] == ' ' && rb_is_one_of(before, qualifiers);
    return beside ? rb_arena_printf(m->arena, "%s_%s", strcmp(before, "training") == 0 ? "train" : before, word) : word;
}

// "[MARK/MARK] loss: ...": the first value of the line, where nothing but brackets and blanks is before it. NULL: something is.
static const char *first_value(const char *line)
{
    const char *p = line + strspn(line, " \t[(");
    return *p == MARK ? p : NULL;
}

// One value, with what belongs to it; the byte behind.
static const char *put_value(struct maker *m, const char *p, const char **count)
{
    const char *word = word_before(m->line, p, m->arena);
    const bool is_count = p[1] == '/' && (p[2] == MARK || isdigit((unsigned char)p[2]));
    m->touched = m->touched || p[1] == MARK;
    if (p == m->mark) {
        put_named(m, m->name);
    } else if (!m->counts && (counts_epochs(word) || counts_steps(word))) {
        m->counts = true;
        put_named(m, "resource");
        return p + 1;
    } else if (is_count && !m->counts && m->begins_with_epoch && p == first_value(m->line)) {
        m->counts = true;
        put_named(m, "resource");
        return p + 1;
    } else if (is_count) {
        *count = p;
        rb_buf_puts(&m->out, "{*}");
        for (p += 2; *p == MARK || isdigit((unsigned char)*p);)
            p++;
        return p;
    } else {
        const char *name = p[1] == '%' && *count ? share_name(m, *count) : value_name(m, p);
        const bool usable =
            is_name(name) && strcmp(name, m->name) != 0 && !is_taken(m, name) && m->n_names + 1 < MOST_NAMES;
        if (usable)
            put_named(m, name);
        else
            rb_buf_puts(&m->out, "{*}");
    }
    return p + 1;
}

// Blanks at the end are none that matter.
static const char *finished(struct maker *m)
{
    size_t n = m->out.len;
    const char *text = rb_buf_str(&m->out);
    while (n > 0 && text[n - 1] == ' ')
        n--;
    return n > 0 && n <= LONGEST ? rb_arena_strndup(m->arena, text, n) : NULL;
}

const char *rb_script_pattern(const char *line, const char *mark, const char *name, bool begins_with_epoch,
                              bool *out_counts, struct rb_arena *arena)
{
    const char *count = NULL, *p = line + strspn(line, " \t");
    struct maker m = {.line = line,
                      .mark = mark,
                      .name = name,
                      .arena = arena,
                      .out = RB_BUF_INIT,
                      .begins_with_epoch = begins_with_epoch};
    while (*p) {
        if (*p == MARK) {
            p = put_value(&m, p, &count);
            continue;
        }
        put_literal(&m, *p++);
        const bool follows = m.n_names > 0 && m.useful + 1 >= m.out.len - (p[-1] == '{' || p[-1] == '}');
        m.useful = follows ? m.out.len : m.useful;
    }
    m.out.len = m.useful;
    if (m.out.data)
        m.out.data[m.useful] = '\0';
    const char *pattern = m.touched ? NULL : finished(&m);
    *out_counts = m.counts;
    rb_buf_finish(&m.out);
    return pattern;
}

const char *rb_script_progress_pattern(const char *line, bool *out_steps, struct rb_arena *arena)
{
    struct maker m = {.line = line, .arena = arena, .name = "", .out = RB_BUF_INIT};
    const char *mark = strchr(line, MARK), *pattern = NULL;
    const char *word = mark ? word_before(line, mark, arena) : "";
    *out_steps = counts_steps(word);
    if (mark && mark[1] != MARK && (*out_steps || counts_epochs(word))) {
        for (const char *p = line + strspn(line, " \t"); p < mark; p++)
            put_literal(&m, *p);
        rb_buf_puts(&m.out, "{resource}");
        for (const char *p = mark + 1; *p && *p != MARK; p++)
            put_literal(&m, *p);
        pattern = finished(&m);
    }
    rb_buf_finish(&m.out);
    return pattern;
}
