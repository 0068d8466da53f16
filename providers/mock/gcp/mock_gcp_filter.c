// Recursive descent that evaluates as it reads; OR binds tighter than AND, as AIP-160 has it.
#include "providers/mock/gcp/mock_gcp_filter.h"
#include "providers/mock/ec2/glob.h"

#include <string.h>

#define MAX_DEPTH 32

struct reader {
    const struct rb_mock_gcp_filter *filter;
    const char *at;
    const void *item; // NULL: only the form is checked
    bool broken;
    int depth;
};

static bool read_and(struct reader *r);

static void skip_space(struct reader *r)
{
    r->at += strspn(r->at, " \t\n");
}

static bool broken(struct reader *r)
{
    r->broken = true;
    return false;
}

// Takes the word if it is here as a whole word.
static bool take_word(struct reader *r, const char *word)
{
    size_t n = strlen(word);
    skip_space(r);
    if (strncmp(r->at, word, n) != 0 || (r->at[n] != ' ' && r->at[n] != '('))
        return false;
    r->at += n;
    return true;
}

static bool is_known(const struct rb_mock_gcp_filter *f, const char *name)
{
    for (const char *const *k = f->known; *k; k++) {
        size_t n = strlen(*k);
        bool prefix = (*k)[n - 1] == '.';
        if (prefix ? strncmp(*k, name, n) == 0 && name[n] : strcmp(*k, name) == 0)
            return true;
    }
    return false;
}

// A bare word ends where an operator, a space or a parenthesis begins; a quoted one may hold anything.
static const char *read_text(struct reader *r, const char *stop)
{
    skip_space(r);
    struct rb_arena *arena = r->filter->arena;
    if (*r->at != '"') {
        size_t n = strcspn(r->at, stop);
        const char *text = rb_arena_strndup(arena, r->at, n);
        r->at += n;
        return n > 0 ? text : NULL;
    }
    char *text = rb_arena_alloc(arena, strlen(r->at) + 1), *end = text;
    for (r->at++; *r->at && *r->at != '"'; r->at++) {
        if (*r->at == '\\' && r->at[1])
            r->at++;
        *end++ = *r->at;
    }
    if (*r->at != '"')
        return NULL;
    r->at++;
    return text;
}

// --- `eq` and `ne`, the older language of filters, which gcloud still uses: the value is a regular expression that the
// whole text must match. Of those, what gcloud makes of names: letters, '.', '*', '\\b' and escaped punctuation.

#define MAX_STARS 3 // backtracking over a name of 63 characters stays cheap

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_expression(const char *p)
{
    int stars = 0;
    for (bool repeatable = false; *p; p++) {
        if (*p == '*') {
            if (!repeatable || ++stars > MAX_STARS)
                return false;
            repeatable = false;
        } else if (*p == '\\') {
            p++;
            if (!*p || (is_word(*p) && *p != 'b'))
                return false;
            repeatable = *p != 'b';
        } else if (strchr("[](){}|+?^$", *p)) {
            return false;
        } else {
            repeatable = true;
        }
    }
    return true;
}

static bool matches_expression(const char *p, const char *text, const char *at)
{
    if (!*p)
        return !*at;
    if (p[0] == '\\' && p[1] == 'b') {
        const bool before = at > text && is_word(at[-1]), here = is_word(*at);
        return before != here && matches_expression(p + 2, text, at);
    }
    const size_t n = p[0] == '\\' ? 2 : 1;
    const bool any = p[0] == '.', repeated = p[n] == '*';
    const char wanted = p[n - 1];
    if (!repeated)
        return *at && (any || *at == wanted) && matches_expression(p + n, text, at + 1);
    for (;; at++) {
        if (matches_expression(p + n + 1, text, at))
            return true;
        if (!*at || !(any || *at == wanted))
            return false;
    }
}

// Backslashes stay: they are the expression's.
static const char *read_expression(struct reader *r)
{
    skip_space(r);
    const bool quoted = *r->at == '"' || *r->at == '\'';
    const char end[2] = {quoted ? *r->at : '\0', '\0'};
    r->at += quoted;
    const size_t n = strcspn(r->at, quoted ? end : " \t\n()");
    const char *text = rb_arena_strndup(r->filter->arena, r->at, n);
    r->at += n;
    if (n == 0 || (quoted && !*r->at) || !is_expression(text))
        return NULL;
    r->at += quoted;
    return text;
}

static const char *read_operator(struct reader *r)
{
    static const char *const operators[] = {"!=", "<=", ">=", "=", ":", "<", ">"};
    skip_space(r);
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++) {
        size_t n = strlen(operators[k]);
        if (strncmp(r->at, operators[k], n) == 0) {
            r->at += n;
            return operators[k];
        }
    }
    return NULL;
}

static bool compare(const char *got, const char *op, const char *value)
{
    if (!got) // what is not set equals nothing, and differs from everything
        return strcmp(op, "!=") == 0;
    switch (op[0]) {
    case '=':
        return rb_mock_glob(value, got);
    case '!':
        return !rb_mock_glob(value, got);
    case ':':
        return strcmp(value, "*") == 0 || rb_mock_glob(value, got) || strstr(got, value);
    default: {
        int order = strcmp(got, value);
        return (op[0] == '<' && order < 0) || (op[0] == '>' && order > 0) || (op[1] == '=' && order == 0);
    }
    }
}

static bool read_comparison(struct reader *r)
{
    const char *start = r->at, *field = read_text(r, " \t\n()=!:<>\"");
    const bool known = field && is_known(r->filter, field), eq = known && take_word(r, "eq"),
               ne = known && !eq && take_word(r, "ne");
    const char *op = known && !eq && !ne ? read_operator(r) : NULL;
    const char *value = eq || ne ? read_expression(r) : op ? read_text(r, " \t\n()") : NULL;
    if (!value) {
        r->at = start;
        return broken(r);
    }
    if (!r->item)
        return false;
    const char *got = r->filter->field(r->item, field, r->filter->context);
    return op ? compare(got, op, value) : (got && matches_expression(value, got, got)) == eq;
}

static bool read_term(struct reader *r)
{
    skip_space(r);
    if (*r->at == '-' || take_word(r, "NOT")) {
        r->at += *r->at == '-';
        return !read_term(r);
    }
    if (*r->at != '(')
        return read_comparison(r);
    if (++r->depth > MAX_DEPTH)
        return broken(r);
    r->at++;
    bool holds = read_and(r);
    skip_space(r);
    if (r->broken || *r->at != ')')
        return broken(r);
    r->at++;
    r->depth--;
    return holds;
}

static bool read_or(struct reader *r)
{
    bool holds = read_term(r);
    while (!r->broken && take_word(r, "OR"))
        holds |= read_term(r);
    return holds;
}

static bool read_and(struct reader *r)
{
    bool holds = read_or(r);
    for (;;) {
        skip_space(r);
        if (r->broken || !*r->at || *r->at == ')')
            return holds;
        take_word(r, "AND");
        holds &= read_or(r);
    }
}

static bool evaluate(const struct rb_mock_gcp_filter *f, const void *item, const char **out_bad)
{
    struct reader r = {.filter = f, .at = f->text, .item = item};
    bool holds = read_and(&r);
    *out_bad = r.broken || *r.at ? r.at : NULL;
    return holds;
}

bool rb_mock_gcp_filter_check(const struct rb_mock_gcp_filter *f, const char **out_bad)
{
    *out_bad = NULL;
    if (f->text)
        evaluate(f, NULL, out_bad);
    return *out_bad == NULL;
}

bool rb_mock_gcp_filter_matches(const struct rb_mock_gcp_filter *f, const void *item)
{
    const char *bad;
    return !f->text || evaluate(f, item, &bad);
}
