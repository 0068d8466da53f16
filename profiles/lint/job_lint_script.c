#include "profiles/lint/job_lint_script.h"

#include "base/text/closest.h"
#include "base/text/number.h"

#include <math.h>
#include <string.h>

// --- the option of a parameter

static bool same_but_dashes(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return *a == *b;
}

static const struct rb_script_option *find_option(const struct rb_script *s, const char *name)
{
    for (int i = 0; i < s->n_options; i++) {
        const struct rb_script_option *o = &s->options[i];
        const bool same =
            s->style == RB_SCRIPT_DATACLASSES ? same_but_dashes(o->name, name) : strcmp(o->name, name) == 0;
        if (same && o->form != RB_SCRIPT_POSITION)
            return o;
    }
    return NULL;
}

// argparse accepts the beginning of a name for the name.
static bool is_abbreviation(const struct rb_script *s, const char *name)
{
    for (int i = 0; i < s->n_options && s->style == RB_SCRIPT_ARGPARSE; i++)
        if (strncmp(s->options[i].name, name, strlen(name)) == 0 && s->options[i].form != RB_SCRIPT_POSITION)
            return true;
    return false;
}

static const char *no_option(const struct rb_script *s, const char *name, struct rb_arena *arena)
{
    const char **names = rb_arena_array(arena, (size_t)s->n_options + 1, sizeof *names);
    for (int i = 0; i < s->n_options; i++)
        names[i] = s->options[i].form == RB_SCRIPT_POSITION ? NULL : s->options[i].name;
    const char *near = rb_closest(name, names, s->n_options);
    return near ? rb_arena_printf(arena, "has no option --%s; did you mean --%s?", name, near)
                : rb_arena_printf(arena, "has no option --%s: rename the parameter, or remove it", name);
}

// --- its values

static const char *value_text(const struct rb_value *v, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_value_text(v, &text);
    return rb_arena_strdup(arena, rb_buf_str(&text));
}

static bool takes(enum rb_script_type type, const char *text)
{
    int64_t i;
    double d;
    return type == RB_SCRIPT_INT ? rb_parse_int(text, &i) : type == RB_SCRIPT_FLOAT ? rb_parse_double(text, &d) : true;
}

static bool draws_whole(const struct rb_param *p)
{
    return p->kind == RB_PARAM_INT_UNIFORM || (p->kind == RB_PARAM_Q_UNIFORM && p->whole);
}

// "32.0" -> "32"
static const char *whole_part(const char *text, struct rb_arena *arena)
{
    return rb_arena_strndup(arena, text, strcspn(text, "."));
}

static const char *wrong_type(const struct rb_script_option *o, const struct rb_param *p, struct rb_arena *arena)
{
    if (p->n_values == 0)
        return o->type == RB_SCRIPT_INT && !draws_whole(p)
                   ? rb_arena_printf(
                         arena, "takes whole numbers for --%s, and these are not: give whole bounds, or `q`", o->name)
                   : NULL;
    for (int i = 0; i < p->n_values; i++) {
        const char *text = value_text(&p->values[i], arena);
        const bool only_a_point = o->type == RB_SCRIPT_INT && p->values[i].kind == RB_VALUE_FLOAT; // RB1268
        if (!takes(o->type, text) &&
            !(only_a_point && rb_has_ending(text, ".0") && takes(RB_SCRIPT_INT, whole_part(text, arena))))
            return rb_arena_printf(arena, "takes %s for --%s, and \"%.60s\" is none",
                                   o->type == RB_SCRIPT_INT ? "a whole number" : "a number", o->name, text);
    }
    return NULL;
}

static bool same_value(const char *a, const char *b)
{
    double x, y;
    return strcmp(a, b) == 0 || (rb_parse_double(a, &x) && rb_parse_double(b, &y) && !(fabs(x - y) > 0));
}

// The literals of ["a", "b"] or [1, 2]; -1: it contains something else.
static int literals_of(const char *choices, struct rb_arena *arena, const char ***out)
{
    struct rb_py_text text;
    rb_py_read(choices, arena, &text);
    const char **items = rb_arena_array(arena, (size_t)text.n + 1, sizeof *items);
    int n = 0;
    for (int i = 0; i < text.n; i++) {
        const struct rb_py_token *t = &text.tokens[i];
        const bool outer = i == 0 || i == text.n - 1, comma = rb_py_is(t, ",");
        if (t->kind == RB_PY_NUMBER)
            items[n++] = rb_arena_strndup(arena, t->at, t->n);
        else if (t->kind == RB_PY_STRING)
            items[n++] = rb_py_string(t, arena);
        else if (!comma && !(outer && strchr("[]()", *t->at)))
            return -1;
    }
    *out = items;
    return n;
}

static const char *not_a_choice(const struct rb_script_option *o, const struct rb_param *p, struct rb_arena *arena)
{
    const char **choices;
    const int n = o->choices ? literals_of(o->choices, arena, &choices) : -1;
    for (int i = 0; i < p->n_values && n > 0; i++) {
        const char *text = value_text(&p->values[i], arena);
        bool found = false;
        for (int k = 0; k < n && !found; k++)
            found = choices[k] && same_value(choices[k], text);
        if (!found)
            return rb_arena_printf(arena, "takes one of %.200s for --%s, and \"%.60s\" is none", o->choices, o->name,
                                   text);
    }
    return NULL;
}

static const char *wrong_form(const struct rb_script_option *o, const struct rb_param *p, struct rb_arena *arena)
{
    if (o->form == RB_SCRIPT_SWITCH && !p->is_flag)
        return rb_arena_printf(arena, "takes no value for --%s: write `%s: {flag: true}`", o->name, p->name);
    if (o->form == RB_SCRIPT_VALUE && p->is_flag)
        return rb_arena_printf(arena, "wants a value for --%s: leave `flag` out, and give `values` or a range",
                               o->name);
    return NULL;
}

const char *rb_script_refuses(const struct rb_script *s, const struct rb_param *p, struct rb_arena *arena)
{
    if (!s->knows_all)
        return NULL;
    const struct rb_script_option *o = find_option(s, p->name);
    if (!o)
        return is_abbreviation(s, p->name) ? NULL : no_option(s, p->name, arena);
    const char *refusal = wrong_form(o, p, arena);
    if (!refusal && o->is_typed && o->form == RB_SCRIPT_VALUE)
        refusal = wrong_type(o, p, arena);
    return refusal || p->is_flag ? refusal : not_a_choice(o, p, arena);
}
