#include "profiles/python_options.h"

#include <ctype.h>
#include <string.h>

static const char call[] = "add_argument";

struct span {
    const char *at, *end;
};

static const char *skip_string(const char *p)
{
    const char quote = *p++;
    while (*p && *p != quote && *p != '\n')
        p += *p == '\\' && p[1] ? 2 : 1;
    return *p == quote ? p + 1 : p;
}

static const char *skip_comment(const char *p)
{
    return p + strcspn(p, "\n");
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

// To the character after the closing bracket of the one at p, or to the end of the text.
static const char *skip_brackets(const char *p)
{
    int depth = 0;
    while (*p) {
        if (is_quote(*p)) {
            p = skip_string(p);
            continue;
        }
        if (*p == '#') {
            p = skip_comment(p);
            continue;
        }
        depth += strchr("([{", *p) != NULL;
        depth -= strchr(")]}", *p) != NULL;
        p++;
        if (depth == 0)
            return p;
    }
    return p;
}

// Without blanks at both ends, and without comments before it.
static struct span trimmed(struct span s)
{
    while (s.at < s.end && (isspace((unsigned char)*s.at) || *s.at == '#'))
        s.at = *s.at == '#' ? skip_comment(s.at) : s.at + 1;
    s.at = s.at < s.end ? s.at : s.end;
    while (s.end > s.at && isspace((unsigned char)s.end[-1]))
        s.end--;
    return s;
}

// One argument of a call: up to the next comma outside strings and brackets.
static struct span next_argument(const char **p, const char *end)
{
    const char *start = *p, *q = start;
    while (q < end && *q != ',') {
        if (is_quote(*q))
            q = skip_string(q);
        else if (*q == '#')
            q = skip_comment(q);
        else
            q = strchr("([{", *q) ? skip_brackets(q) : q + 1;
    }
    q = q < end ? q : end;
    *p = q < end ? q + 1 : end;
    return trimmed((struct span){start, q});
}

static const char *copy(struct span s, struct rb_arena *arena)
{
    return rb_arena_strndup(arena, s.at, (size_t)(s.end - s.at));
}

// "--name" -> name. Short options and positional ones: NULL.
static const char *long_name(struct span s, struct rb_arena *arena)
{
    const bool quoted = s.end - s.at > 4 && is_quote(*s.at) && s.end[-1] == *s.at;
    if (!quoted || s.at[1] != '-' || s.at[2] != '-')
        return NULL;
    return copy((struct span){s.at + 3, s.end - 1}, arena);
}

// Where `key=value` has its value; NULL: it is another argument.
static const char *value_of(struct span s, const char *key)
{
    const size_t n = strlen(key);
    if ((size_t)(s.end - s.at) <= n || strncmp(s.at, key, n) != 0)
        return NULL;
    const char *p = s.at + n;
    while (p < s.end && *p == ' ')
        p++;
    return p < s.end && *p == '=' ? p + 1 : NULL;
}

static bool take_keyword(struct span s, const char *key, const char **out, struct rb_arena *arena)
{
    const char *value = value_of(s, key);
    if (value)
        *out = copy(trimmed((struct span){value, s.end}), arena);
    return value != NULL;
}

static struct rb_python_option read_call(const char *p, const char *end, struct rb_arena *arena)
{
    struct rb_python_option o = {0};
    while (p < end) {
        const struct span argument = next_argument(&p, end);
        if (!o.name && argument.at < argument.end && is_quote(*argument.at))
            o.name = long_name(argument, arena);
        else if (!take_keyword(argument, "type", &o.type, arena) &&
                 !take_keyword(argument, "default", &o.default_value, arena) &&
                 !take_keyword(argument, "choices", &o.choices, arena))
            o.is_switch = o.is_switch || value_of(argument, "action");
    }
    return o;
}

// The next call of add_argument that is not in a string or a comment: where its bracket opens. NULL: none.
static const char *next_call(const char *p)
{
    while (*p) {
        if (strncmp(p, "\"\"\"", 3) == 0 || strncmp(p, "'''", 3) == 0) {
            const char *end = strstr(p + 3, *p == '"' ? "\"\"\"" : "'''");
            p = end ? end + 3 : p + strlen(p);
        } else if (is_quote(*p)) {
            p = skip_string(p);
        } else if (*p == '#') {
            p = skip_comment(p);
        } else if (strncmp(p, call, sizeof call - 1) == 0 && p[sizeof call - 1] == '(') {
            return p + sizeof call - 1;
        } else {
            p++;
        }
    }
    return NULL;
}

int rb_python_options_read(const char *script, struct rb_arena *arena, const struct rb_python_option **out)
{
    int n = 0, most = 0;
    for (const char *p = script; (p = strstr(p, call)); p++)
        most++;
    struct rb_python_option *options = rb_arena_array(arena, (size_t)most + 1, sizeof *options);
    for (const char *p = next_call(script); p; p = next_call(p)) {
        const char *end = skip_brackets(p);
        options[n] = read_call(p + 1, end > p + 1 ? end - 1 : end, arena);
        n += options[n].name != NULL;
        p = end;
    }
    *out = options;
    return n;
}
