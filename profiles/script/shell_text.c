#include "profiles/script/shell_text.h"

#include <ctype.h>
#include <string.h>

#define MAX_DEPTH    50 // of substitutions in substitutions
#define MAX_HEREDOCS 16 // that begin on one line

struct reader {
    const char *s;
    size_t i;
    struct rb_arena *arena;
    struct rb_shell_text *out;
    struct rb_shell_use *uses;
    struct rb_shell_word *words;
    int depth;
    struct {
        const char *end;
        bool indented;
    } heredocs[MAX_HEREDOCS];
    int n_heredocs;
    bool broken;
};

// One list of commands: the whole text, or the contents of $(...).
struct list {
    char closer;       // ')' or '\0'
    int parens, cases; // open in it
    size_t word;       // where the present word begins
    bool in_word;
    bool expects_name; // the next word names a command
    bool is_target;    // the next word is a redirection's
    bool is_subject;   // the next word is the subject of `case`
    bool reads_again;  // the command passes its words to a shell again
};

static void read_list(struct reader *r, char closer);
static void read_double(struct reader *r);

static bool is_boundary(char c)
{
    return c == '\0' || strchr(" \t\n;&|()<>", c);
}

static size_t name_length(const char *s)
{
    size_t n = 0;
    if (!isalpha((unsigned char)s[0]) && s[0] != '_')
        return 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return n;
}

static void add_use(struct reader *r, size_t at, const char *name, size_t name_len, bool is_default)
{
    r->out->uses = r->uses = rb_arena_grow(r->arena, r->uses, r->out->n_uses, sizeof *r->uses);
    r->uses[r->out->n_uses++] = (struct rb_shell_use){
        .name = rb_arena_strndup(r->arena, name, name_len), .at = at, .n = r->i - at, .is_default = is_default};
}

static void add_word(struct reader *r, size_t at, size_t n, bool is_first)
{
    r->out->words = r->words = rb_arena_grow(r->arena, r->words, r->out->n_words, sizeof *r->words);
    r->words[r->out->n_words++] = (struct rb_shell_word){at, n, is_first};
}

// --- quotes and expansions; each begins at its first character and ends behind its last

static void skip_escape(struct reader *r)
{
    r->i += r->s[r->i + 1] ? 2 : 1;
}

static void nested(struct reader *r, char closer)
{
    if (r->depth >= MAX_DEPTH) {
        r->broken = true;
        r->i += strlen(r->s + r->i);
        return;
    }
    r->depth++;
    read_list(r, closer);
    r->depth--;
}

// $((...)): no commands, and << shifts.
static void read_arithmetic(struct reader *r)
{
    int depth = 2;
    for (r->i += 3; r->s[r->i] && depth > 0; r->i++) {
        depth += r->s[r->i] == '(';
        depth -= r->s[r->i] == ')';
    }
    r->broken = r->broken || depth > 0;
}

static void read_dollar(struct reader *r);
static void read_backquotes(struct reader *r);

static void read_single(struct reader *r)
{
    r->i++;
    while (r->s[r->i] && r->s[r->i] != '\'') {
        const size_t n = r->s[r->i] == '$' ? name_length(r->s + r->i + 1) : 0;
        const size_t at = r->i;
        r->i += n + 1;
        if (n > 0)
            add_use(r, at, r->s + at + 1, n, false);
    }
    r->broken = r->broken || !r->s[r->i];
    r->i += r->s[r->i] != '\0';
}

// One character or expansion where quotes nest as in commands: in ${...}.
static void read_part(struct reader *r)
{
    switch (r->s[r->i]) {
    case '\\':
        skip_escape(r);
        break;
    case '\'':
        read_single(r);
        break;
    case '"':
        read_double(r);
        break;
    case '`':
        read_backquotes(r);
        break;
    case '$':
        read_dollar(r);
        break;
    default:
        r->i++;
    }
}

static void read_braces(struct reader *r)
{
    const size_t at = r->i, sharp = r->s[at + 2] == '#' && name_length(r->s + at + 3) > 0;
    const char *name = r->s + at + 2 + sharp;
    const size_t n = name_length(name);
    const int first = r->out->n_uses;
    r->i += 2 + sharp + n;
    const char *op = r->s + r->i;
    if (n > 0)
        add_use(r, at, name, n,
                sharp == 0 && (op[0] == ':' ? op[1] && strchr("-=?+", op[1]) : strchr("-=?+", *op) && *op));
    if (r->depth++ >= MAX_DEPTH)
        r->broken = true;
    while (r->s[r->i] && r->s[r->i] != '}' && !r->broken)
        read_part(r);
    r->depth--;
    r->broken = r->broken || !r->s[r->i];
    r->i += r->s[r->i] != '\0';
    if (n > 0)
        r->uses[first].n = r->i - at;
}

static void read_dollar(struct reader *r)
{
    const size_t at = r->i;
    const char next = r->s[at + 1];
    const size_t n = name_length(r->s + at + 1);
    if (next == '(' && r->s[at + 2] == '(') {
        read_arithmetic(r);
    } else if (next == '(') {
        r->i += 2;
        nested(r, ')');
    } else if (next == '{') {
        read_braces(r);
    } else if (n > 0) {
        r->i += 1 + n;
        add_use(r, at, r->s + at + 1, n, false);
    } else {
        r->i += next && strchr("?#*@$!-0123456789", next) ? 2 : 1;
    }
}

// Old-style substitution: it is searched for variables, and otherwise skipped.
static void read_backquotes(struct reader *r)
{
    r->i++;
    while (r->s[r->i] && r->s[r->i] != '`') {
        const size_t at = r->i, n = r->s[at] == '$' ? name_length(r->s + at + 1) : 0;
        if (r->s[at] == '\\')
            skip_escape(r);
        else
            r->i += n + 1;
        if (n > 0)
            add_use(r, at, r->s + at + 1, n, false);
    }
    r->broken = r->broken || !r->s[r->i];
    r->i += r->s[r->i] != '\0';
}

static void read_double(struct reader *r)
{
    r->i++;
    while (r->s[r->i] && r->s[r->i] != '"') {
        if (r->s[r->i] == '\\')
            skip_escape(r);
        else if (r->s[r->i] == '`')
            read_backquotes(r);
        else if (r->s[r->i] == '$')
            read_dollar(r);
        else
            r->i++;
    }
    r->broken = r->broken || !r->s[r->i];
    r->i += r->s[r->i] != '\0';
}

// --- here-documents

// Behind << or <<-: the word that ends it, without its quotes.
static void expect_heredoc(struct reader *r, bool indented)
{
    RB_AUTO(rb_buf_finish) struct rb_buf end = RB_BUF_INIT;
    r->i += strspn(r->s + r->i, " \t");
    while (!is_boundary(r->s[r->i])) {
        if (!strchr("'\"\\", r->s[r->i]))
            rb_buf_putc(&end, r->s[r->i]);
        r->i++;
    }
    if (end.len == 0 || r->n_heredocs == MAX_HEREDOCS) {
        r->broken = true;
        return;
    }
    r->heredocs[r->n_heredocs].end = rb_arena_strdup(r->arena, rb_buf_str(&end));
    r->heredocs[r->n_heredocs++].indented = indented;
}

static void look_through_line(struct reader *r, size_t end)
{
    while (r->i < end) {
        const size_t at = r->i, n = r->s[at] == '$' ? name_length(r->s + at + 1) : 0;
        r->i += n + 1;
        if (n > 0)
            add_use(r, at, r->s + at + 1, n, false);
    }
    r->i = end;
}

static void skip_heredocs(struct reader *r)
{
    for (int k = 0; k < r->n_heredocs; k++) {
        const char *end = r->heredocs[k].end;
        for (bool over = false; !over;) {
            const char *line = r->s + r->i + (r->heredocs[k].indented ? strspn(r->s + r->i, "\t") : 0);
            const size_t n = strcspn(line, "\n");
            over = n == strlen(end) && strncmp(line, end, n) == 0;
            look_through_line(r, (size_t)(line - r->s) + n);
            if (!r->s[r->i]) {
                r->broken = r->broken || !over || k + 1 < r->n_heredocs;
                r->n_heredocs = 0;
                return;
            }
            r->i++;
        }
    }
    r->n_heredocs = 0;
}

// --- words and commands

static bool is_one_of(const char *s, size_t n, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == n && strncmp(s, *names, n) == 0)
            return true;
    return false;
}

static bool is_assignment(const char *s, size_t n)
{
    const size_t name = name_length(s);
    return name > 0 && name < n && s[name] == '=';
}

static void end_word(struct reader *r, struct list *l)
{
    static const char *const before_command[] = {"if", "then", "else", "elif", "do",   "while", "until",
                                                 "!",  "{",    "}",    "fi",   "done", NULL};
    if (!l->in_word)
        return;
    const char *s = r->s + l->word;
    const size_t n = r->i - l->word;
    const bool named = l->expects_name && !l->is_target;
    l->in_word = false;
    if (l->is_target || l->is_subject) {
        l->is_target = l->is_subject = false;
    } else if (named && n == 4 && strncmp(s, "case", 4) == 0) {
        l->cases++;
        l->is_subject = true;
        l->expects_name = false;
    } else if (n == 4 && strncmp(s, "esac", 4) == 0 && l->cases > 0) {
        l->cases--;
    } else if (!named || !(is_one_of(s, n, before_command) || is_assignment(s, n))) {
        static const char *const again[] = {"eval", "ssh", NULL};
        l->reads_again = named ? is_one_of(s, n, again) : l->reads_again;
        if (r->depth == 0)
            add_word(r, l->word, n, named);
        l->expects_name = false;
    }
}

static void end_command(struct reader *r, struct list *l)
{
    end_word(r, l);
    l->expects_name = true;
    l->is_target = l->is_subject = l->reads_again = false;
}

static void read_redirection(struct reader *r, struct list *l)
{
    const bool is_number = l->in_word && strspn(r->s + l->word, "0123456789") == r->i - l->word;
    if (is_number)
        l->in_word = false;
    end_word(r, l);
    const char *p = r->s + r->i;
    if (p[0] == '<' && p[1] == '<' && p[2] != '<') {
        r->i += p[2] == '-' ? 3 : 2;
        expect_heredoc(r, p[2] == '-');
        return;
    }
    r->i += strspn(p, "<>");
    r->i += r->s[r->i] && strchr("&|", r->s[r->i]) ? 1 : 0;
    l->is_target = true;
}

static void begin_word(struct reader *r, struct list *l)
{
    if (l->in_word)
        return;
    l->in_word = true;
    l->word = r->i;
}

static void read_expansion(struct reader *r, struct list *l)
{
    const size_t at = r->i;
    const int first = r->out->n_uses;
    const bool alone = l->word == at && !l->is_target && !l->is_subject && !l->reads_again;
    read_dollar(r);
    if (!alone || r->out->n_uses == first || !is_boundary(r->s[r->i]))
        return;
    struct rb_shell_use *use = &r->uses[first];
    const size_t n = strlen(use->name); // $NAME or ${NAME}, nothing in it
    use->is_word =
        use->at == at && use->n == r->i - at && (use->n == n + 1 || (use->n == n + 3 && r->s[at + 1] == '{'));
}

// True: it ends the list.
static bool read_bracket(struct reader *r, struct list *l)
{
    const bool closes = r->s[r->i] == ')';
    end_command(r, l);
    r->i++;
    if (!closes)
        l->parens++;
    else if (l->parens > 0)
        l->parens--;
    else if (l->cases == 0)
        return l->closer == ')' || (r->broken = true); // a pattern's, else one too many
    return false;
}

// True: the list has ended.
static bool read_one(struct reader *r, struct list *l)
{
    const char c = r->s[r->i];
    if (c == '\\' && r->s[r->i + 1] == '\n') {
        r->i += 2;
    } else if (c == ' ' || c == '\t') {
        end_word(r, l);
        r->i++;
    } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
        end_command(r, l);
        r->i++;
        if (c == '\n' && r->n_heredocs > 0)
            skip_heredocs(r);
    } else if (c == '(' || c == ')') {
        return read_bracket(r, l);
    } else if (c == '<' || c == '>') {
        read_redirection(r, l);
    } else if (c == '#' && !l->in_word) {
        r->i += strcspn(r->s + r->i, "\n");
    } else {
        begin_word(r, l);
        if (c == '$')
            read_expansion(r, l);
        else
            read_part(r);
    }
    return false;
}

static void read_list(struct reader *r, char closer)
{
    struct list l = {.closer = closer, .expects_name = true};
    while (r->s[r->i])
        if (read_one(r, &l))
            return;
    end_command(r, &l);
    r->broken = r->broken || closer != '\0' || l.parens > 0 || r->n_heredocs > 0;
}

void rb_shell_read(const char *command, struct rb_arena *arena, struct rb_shell_text *out)
{
    *out = (struct rb_shell_text){0};
    struct reader r = {.s = command, .arena = arena, .out = out};
    read_list(&r, '\0');
    out->is_whole = !r.broken;
}

void rb_shell_replace(const char *command, const char *variable, const char *words, struct rb_buf *out)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_shell_text text;
    size_t done = 0;
    rb_shell_read(command, &arena, &text);
    for (int i = 0; i < text.n_uses && text.is_whole; i++) {
        const struct rb_shell_use *use = &text.uses[i];
        if (!use->is_word || strcmp(use->name, variable) != 0)
            continue;
        rb_buf_append(out, command + done, use->at - done);
        rb_buf_puts(out, words);
        done = use->at + use->n;
    }
    rb_buf_puts(out, command + done);
}

// Up to the closing quote; false: the shell expands something in it.
static bool take_quoted(const char **p, const char *end, struct rb_buf *out)
{
    const char quote = *(*p)++;
    for (; *p < end && **p != quote; (*p)++) {
        if (quote == '"' && (**p == '$' || **p == '`'))
            return false;
        if (quote == '"' && **p == '\\' && *p + 1 < end && strchr("\\\"$`", (*p)[1]))
            (*p)++;
        rb_buf_putc(out, **p);
    }
    *p += *p < end;
    return true;
}

const char *rb_shell_plain(const char *command, struct rb_shell_word word, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    const char *p = command + word.at, *end = p + word.n;
    if (*p == '~')
        return NULL;
    while (p < end) {
        if (strchr("$`*?[", *p))
            return NULL;
        if (*p == '\'' || *p == '"') {
            if (!take_quoted(&p, end, &text))
                return NULL;
            continue;
        }
        p += *p == '\\' && p + 1 < end;
        rb_buf_putc(&text, *p++);
    }
    return rb_arena_strndup(arena, rb_buf_str(&text), text.len);
}
