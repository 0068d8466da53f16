// Options of a script, one style at a time. Each reader looks for the calls of its library; the calls that occur decide
// the style.
#include "profiles/script/script.h"

#include <ctype.h>
#include <string.h>

struct reader {
    const struct rb_py_text *text;
    struct rb_arena *arena;
    struct rb_script *s;
    struct rb_script_option *options;
    bool unsure; // an option may be missing from the list
};

static const struct rb_py_token *token(const struct reader *r, int i)
{
    return &r->text->tokens[i >= 0 && i < r->text->n ? i : r->text->n];
}

static bool is(const struct reader *r, int i, const char *text)
{
    return rb_py_is(token(r, i), text);
}

static bool is_call_of(const struct reader *r, int i, const char *name)
{
    return token(r, i)->kind == RB_PY_NAME && is(r, i, name) && is(r, i + 1, "(");
}

static bool has_name(const struct reader *r, const char *name)
{
    for (int i = 0; i < r->text->n; i++)
        if (token(r, i)->kind == RB_PY_NAME && is(r, i, name))
            return true;
    return false;
}

static bool has_call(const struct reader *r, const char *name)
{
    for (int i = 0; i < r->text->n; i++)
        if (is_call_of(r, i, name))
            return true;
    return false;
}

static bool defines(const struct reader *r, const char *what, const struct rb_py_token *name)
{
    for (int i = 0; i < r->text->n; i++)
        if (is(r, i, what) && token(r, i + 1)->n == name->n && strncmp(token(r, i + 1)->at, name->at, name->n) == 0)
            return true;
    return false;
}

// An option without a name, such as click's "--/--b", cannot be used.
static void add(struct reader *r, struct rb_script_option o)
{
    if (!o.name[0]) {
        r->unsure = true;
        return;
    }
    r->s->options = r->options = rb_arena_grow(r->arena, r->options, r->s->n_options, sizeof o);
    r->options[r->s->n_options++] = o;
}

static const char *text_of(const struct reader *r, const struct rb_py_token *t)
{
    return rb_arena_strndup(r->arena, t->at, t->n);
}

// --- literals

static bool is_none(const char *source)
{
    return !source || strcmp(source, "None") == 0 || strcmp(source, "...") == 0;
}

static enum rb_script_type type_of_literal(const char *source)
{
    if (is_none(source))
        return RB_SCRIPT_ANY;
    if (strcmp(source, "True") == 0 || strcmp(source, "False") == 0)
        return RB_SCRIPT_BOOL;
    if (source[0] == '"' || source[0] == '\'')
        return RB_SCRIPT_TEXT;
    const char *digits = source + (source[0] == '-');
    if (!isdigit((unsigned char)digits[0]) && digits[0] != '.')
        return RB_SCRIPT_ANY;
    if (digits[strspn(digits, "0123456789_")] == '\0')
        return RB_SCRIPT_INT;
    return digits[strspn(digits, "0123456789_.eE+-")] == '\0' ? RB_SCRIPT_FLOAT : RB_SCRIPT_ANY;
}

static enum rb_script_type type_named(const char *source)
{
    static const struct {
        const char *name;
        enum rb_script_type type;
    } names[] = {
        {"int", RB_SCRIPT_INT},           {"float", RB_SCRIPT_FLOAT},           {"str", RB_SCRIPT_TEXT},
        {"click.INT", RB_SCRIPT_INT},     {"click.FLOAT", RB_SCRIPT_FLOAT},     {"click.STRING", RB_SCRIPT_TEXT},
        {"Path", RB_SCRIPT_TEXT},         {"pathlib.Path", RB_SCRIPT_TEXT},     {"bool", RB_SCRIPT_BOOL},
        {"Optional[int]", RB_SCRIPT_INT}, {"Optional[float]", RB_SCRIPT_FLOAT}, {"Optional[str]", RB_SCRIPT_TEXT},
    };
    for (size_t i = 0; source && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].name, source) == 0)
            return names[i].type;
    return RB_SCRIPT_ANY;
}

static const char *source_of(const struct reader *r, const struct rb_py_argument *a)
{
    const char *source = rb_py_source(r->text, a->value, r->arena);
    return is_none(source) ? NULL : source;
}

static const struct rb_py_argument *keyword(const struct rb_py_argument *a, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (a[i].name && rb_py_is(a[i].name, name))
            return &a[i];
    return NULL;
}

static const char *keyword_source(const struct reader *r, const struct rb_py_argument *a, int n, const char *name)
{
    const struct rb_py_argument *found = keyword(a, n, name);
    return found ? source_of(r, found) : NULL;
}

static bool keyword_is(const struct reader *r, const struct rb_py_argument *a, int n, const char *name,
                       const char *value)
{
    const char *source = keyword_source(r, a, n, name);
    return source && strcmp(source, value) == 0;
}

// --- names of options

// A literal; NULL: a variable, or computed.
static const char *literal(const struct reader *r, const struct rb_py_argument *a)
{
    const bool alone = !a->name && a->value.end - a->value.first == 1 && !rb_py_is_fstring(token(r, a->value.first));
    return alone ? rb_py_string(token(r, a->value.first), r->arena) : NULL;
}

// "--name" -> name; anything else: NULL.
static const char *long_name(const struct reader *r, const struct rb_py_argument *a)
{
    const char *text = literal(r, a);
    return text && strncmp(text, "--", 2) == 0 && text[2] ? text + 2 : NULL;
}

// The same option under each of its long names; a call without any adds a position, or nothing if it has short ones.
static void add_names(struct reader *r, const struct rb_py_argument *a, int n, struct rb_script_option o)
{
    bool any = false, is_short = false;
    for (int i = 0; i < n; i++) {
        const char *name = long_name(r, &a[i]), *text = literal(r, &a[i]);
        is_short = is_short || (text && text[0] == '-');
        if (!name)
            continue;
        o.name = name;
        o.is_alias = any;
        add(r, o);
        any = true;
    }
    const char *first = n > 0 ? literal(r, &a[0]) : NULL;
    if (!first)
        r->unsure = true; // its name is computed
    else if (!any && !is_short && *first) {
        o.name = first;
        o.form = RB_SCRIPT_POSITION;
        add(r, o);
    }
}

// --- argparse

static enum rb_script_form argparse_form(const struct reader *r, const struct rb_py_argument *a, int n)
{
    const char *action = keyword_source(r, a, n, "action"), *nargs = keyword_source(r, a, n, "nargs");
    if (action && (strstr(action, "store_true") || strstr(action, "store_false")))
        return RB_SCRIPT_SWITCH;
    if (action && strstr(action, "BooleanOptionalAction"))
        return RB_SCRIPT_SWITCH;
    if (action && !strstr(action, "\"store\"") && !strstr(action, "'store'"))
        return RB_SCRIPT_OTHER;
    return nargs && !strstr(nargs, "?") ? RB_SCRIPT_OTHER : RB_SCRIPT_VALUE;
}

static void read_add_argument(struct reader *r, int i)
{
    const struct rb_py_argument *a;
    const int n = rb_py_arguments(r->text, i + 1, r->arena, &a);
    struct rb_script_option o = {
        .form = argparse_form(r, a, n),
        .default_value = keyword_source(r, a, n, "default"),
        .choices = keyword_source(r, a, n, "choices"),
        .is_required = keyword_is(r, a, n, "required", "True"),
        .is_optional =
            keyword(a, n, "nargs") && !keyword_is(r, a, n, "nargs", "'+'") && !keyword_is(r, a, n, "nargs", "\"+\""),
        .line = token(r, i)->line,
    };
    const char *type = keyword_source(r, a, n, "type"), *action = keyword_source(r, a, n, "action");
    o.type = type ? type_named(type) : type_of_literal(o.default_value);
    o.is_typed = type != NULL;
    if (!type && o.form == RB_SCRIPT_SWITCH)
        o.type = RB_SCRIPT_BOOL;
    else if (!type && !o.default_value)
        o.type = RB_SCRIPT_TEXT; // argparse's type for it
    for (int k = 0; k < n; k++)
        r->unsure = r->unsure || rb_py_is(token(r, a[k].value.first), "*"); // *args, **kwargs
    const int before = r->s->n_options;
    add_names(r, a, n, o);
    if (action && strstr(action, "BooleanOptionalAction") && r->s->n_options > before) {
        o.name = rb_arena_printf(r->arena, "no-%s", r->options[before].name);
        o.is_alias = true;
        add(r, o);
    }
}

// Is the parser passed to a function of another file?
static bool is_handed_on(const struct reader *r, const struct rb_py_token *parser)
{
    for (int i = 1; i < r->text->n; i++) {
        const struct rb_py_token *t = token(r, i);
        if (t->kind != RB_PY_NAME || t->n != parser->n || strncmp(t->at, parser->at, t->n) != 0)
            continue;
        const bool alone =
            (is(r, i - 1, "(") || is(r, i - 1, ",") || is(r, i - 1, "=")) && (is(r, i + 1, ")") || is(r, i + 1, ","));
        int open = i - 1;
        while (alone && open > 0 && !(is(r, open, "(") && token(r, open)->match > i))
            open--;
        const struct rb_py_token *callee = token(r, open - 1);
        const bool is_definition = is(r, open - 2, "def");
        if (alone && !is_definition && callee->kind == RB_PY_NAME &&
            (is(r, open - 2, ".") || !defines(r, "def", callee)))
            return true;
    }
    return false;
}

static bool read_argparse(struct reader *r)
{
    static const char *const open_ended[] = {
        "parse_known_args", "parse_known_intermixed_args", "add_subparsers", "parents", "HfArgumentParser", NULL};
    for (int i = 0; i < r->text->n; i++) {
        if (!is_call_of(r, i, "add_argument"))
            continue;
        read_add_argument(r, i);
        const struct rb_py_token *parser = is(r, i - 1, ".") ? token(r, i - 2) : token(r, r->text->n);
        r->unsure = r->unsure || parser->kind != RB_PY_NAME || is_handed_on(r, parser);
    }
    for (const char *const *name = open_ended; *name; name++)
        r->unsure = r->unsure || has_name(r, *name);
    r->s->knows_all = !r->unsure && has_call(r, "ArgumentParser") && has_call(r, "parse_args");
    return r->s->n_options > 0;
}

// --- click

static bool read_click_pair(struct reader *r, const struct rb_py_argument *a, struct rb_script_option o)
{
    const char *name = long_name(r, a), *slash = name ? strstr(name, "/") : NULL;
    if (!slash)
        return false;
    o.form = RB_SCRIPT_SWITCH;
    o.type = RB_SCRIPT_BOOL;
    o.name = rb_arena_strndup(r->arena, name, (size_t)(slash - name));
    add(r, o);
    if (strncmp(slash + 1, "--", 2) == 0) {
        o.is_alias = o.name[0] != '\0';
        o.name = slash + 3;
        add(r, o);
    }
    return true;
}

// click.Choice(["a", "b"]) -> ["a", "b"]; NULL: they are defined elsewhere.
static const char *click_choices(const struct reader *r, const struct rb_py_argument *type)
{
    for (int i = type ? type->value.first : 0; type && i < type->value.end; i++)
        if (is_call_of(r, i, "Choice") && (is(r, i + 2, "[") || is(r, i + 2, "(")))
            return rb_py_source(r->text, (struct rb_py_span){i + 2, token(r, i + 2)->match + 1}, r->arena);
    return NULL;
}

static void read_click_option(struct reader *r, int i)
{
    const struct rb_py_argument *a;
    const int n = rb_py_arguments(r->text, i + 1, r->arena, &a);
    const char *type = keyword_source(r, a, n, "type");
    struct rb_script_option o = {
        .default_value = keyword_source(r, a, n, "default"),
        .choices = click_choices(r, keyword(a, n, "type")),
        .is_required = keyword_is(r, a, n, "required", "True"),
        .line = token(r, i)->line,
    };
    o.type = type_named(type);
    if (type && strstr(type, "IntRange"))
        o.type = RB_SCRIPT_INT;
    if (type && strstr(type, "FloatRange"))
        o.type = RB_SCRIPT_FLOAT;
    if (o.type == RB_SCRIPT_ANY)
        o.type = type_of_literal(o.default_value);
    o.is_typed = true; // a default's type is the option's
    if (keyword_is(r, a, n, "is_flag", "True")) {
        o.form = RB_SCRIPT_SWITCH;
        o.type = RB_SCRIPT_BOOL;
    } else if (keyword(a, n, "nargs") || keyword(a, n, "multiple") || keyword(a, n, "count")) {
        o.form = RB_SCRIPT_OTHER;
    }
    if (n > 0 && !a[0].name && read_click_pair(r, &a[0], o))
        return;
    add_names(r, a, n, o);
}

static bool read_click(struct reader *r)
{
    for (int i = 0; i < r->text->n; i++) {
        if (is_call_of(r, i, "option") && (is(r, i - 1, ".") || is(r, i - 1, "@")))
            read_click_option(r, i);
        const bool decorates = is(r, i, "@") && (i == 0 || token(r, i - 1)->kind == RB_PY_NEWLINE);
        r->unsure = r->unsure || (decorates && !is(r, i + 1, "click") && !is(r, i + 1, "torch")); // it may add options
    }
    r->unsure =
        r->unsure || has_name(r, "ignore_unknown_options") || has_name(r, "group") || has_name(r, "add_command");
    for (int i = 0; i < r->text->n; i++)
        r->unsure = r->unsure ||
                    (token(r, i)->kind == RB_PY_STRING && strstr(text_of(r, token(r, i)), "ignore_unknown_options"));
    r->s->knows_all = !r->unsure && has_call(r, "command");
    return r->s->n_options > 0 && has_name(r, "click");
}

// --- typer: the parameters of the function that it runs

// typer.Option(0.1, help=...) -> 0.1; typer.Argument(...) is a place.
static void read_typer_value(struct reader *r, int first, int end, struct rb_script_option *o)
{
    const int call = is(r, first + 1, ".") ? first + 2 : first;
    const bool is_option = is_call_of(r, call, "Option");
    if (!is_option && !is_call_of(r, call, "Argument")) {
        o->default_value = rb_py_source(r->text, (struct rb_py_span){first, end}, r->arena);
        return;
    }
    const struct rb_py_argument *a;
    const int n = rb_py_arguments(r->text, call + 1, r->arena, &a);
    o->default_value = n > 0 && !a[0].name ? source_of(r, &a[0]) : keyword_source(r, a, n, "default");
    o->is_required = is_option && n > 0 && rb_py_is(token(r, a[0].value.first), ".");
    o->form = is_option ? RB_SCRIPT_VALUE : RB_SCRIPT_POSITION;
    for (int k = 1; k < n && is_option; k++)
        if (!a[k].name && long_name(r, &a[k]))
            o->name = long_name(r, &a[k]);
}

// lr: float = 0.1, or lr: Annotated[float, typer.Option(help=...)] = 0.1
static void read_typer_parameter(struct reader *r, int first, int end)
{
    int equals = first;
    while (equals < end && !is(r, equals, "="))
        equals = is(r, equals, "[") || is(r, equals, "(") ? token(r, equals)->match + 1 : equals + 1;
    char *name = rb_arena_strndup(r->arena, token(r, first)->at, token(r, first)->n);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    struct rb_script_option o = {
        .name = name, .line = token(r, first)->line, .is_typed = true, .form = RB_SCRIPT_POSITION};
    if (equals < end) {
        o.form = RB_SCRIPT_VALUE;
        read_typer_value(r, equals + 1, end, &o);
    }
    const bool annotated = is(r, first + 2, "Annotated");
    const int type = annotated ? first + 4 : first + 2;
    int type_end = type + 1;
    while (annotated && type_end < equals && !is(r, type_end, ","))
        type_end = is(r, type_end, "[") ? token(r, type_end)->match + 1 : type_end + 1;
    if (is(r, first + 1, ":"))
        o.type = type_named(rb_py_source(r->text, (struct rb_py_span){type, annotated ? type_end : equals}, r->arena));
    if (o.type == RB_SCRIPT_ANY)
        o.type = type_of_literal(o.default_value);
    if (is_none(o.default_value))
        o.default_value = NULL;
    if (o.type == RB_SCRIPT_BOOL)
        o.form = RB_SCRIPT_SWITCH; // and --no-name
    add(r, o);
}

static void read_typer_function(struct reader *r, int def)
{
    const int end = token(r, def + 2)->match;
    for (int at = def + 3; at < end;) {
        int comma = at;
        while (comma < end && !is(r, comma, ","))
            comma = token(r, comma)->kind == RB_PY_OP && strchr("([{", *token(r, comma)->at)
                        ? token(r, comma)->match + 1
                        : comma + 1;
        if (token(r, at)->kind == RB_PY_NAME)
            read_typer_parameter(r, at, comma < end ? comma : end);
        at = comma + 1;
    }
}

// typer.run(main), or @app.command() before a def.
static bool read_typer(struct reader *r)
{
    if (!has_name(r, "typer"))
        return false;
    for (int i = 2; i + 3 < r->text->n; i++) {
        const bool run = is(r, i - 2, "typer") && is_call_of(r, i, "run");
        const bool command = is_call_of(r, i, "command") && is(r, i - 1, ".");
        const int end = token(r, i + 1)->match;
        for (int k = run ? 0 : end; (run || command) && k + 2 < r->text->n; k++) {
            if (!is(r, k, "def") || !is(r, k + 2, "("))
                continue;
            const struct rb_py_token *name = token(r, k + 1), *wanted = token(r, i + 2);
            if (command || (name->n == wanted->n && strncmp(name->at, wanted->at, name->n) == 0)) {
                read_typer_function(r, k);
                return r->s->n_options > 0;
            }
        }
    }
    return false;
}

// --- Hydra: @hydra.main(...)

static bool read_hydra(struct reader *r)
{
    for (int i = 2; i < r->text->n; i++)
        if (is(r, i, "main") && is(r, i - 1, ".") && is(r, i - 2, "hydra"))
            return true;
    return false;
}

// --- absl.flags

static void read_define(struct reader *r, int i, const char *kind)
{
    const struct rb_py_argument *a;
    const int n = rb_py_arguments(r->text, i + 1, r->arena, &a);
    const char *name = n > 0 ? rb_py_string(token(r, a[0].value.first), r->arena) : NULL;
    if (!name) {
        r->unsure = true;
        return;
    }
    struct rb_script_option o = {
        .name = name, .default_value = n > 1 ? source_of(r, &a[1]) : NULL, .line = token(r, i)->line};
    if (strcmp(kind, "float") == 0)
        o.type = RB_SCRIPT_FLOAT;
    else if (strcmp(kind, "integer") == 0)
        o.type = RB_SCRIPT_INT;
    else if (strcmp(kind, "bool") == 0 || strcmp(kind, "boolean") == 0)
        o.type = RB_SCRIPT_BOOL, o.form = RB_SCRIPT_EITHER;
    else if (strcmp(kind, "string") == 0 || strcmp(kind, "enum") == 0)
        o.type = RB_SCRIPT_TEXT;
    else
        o.form = RB_SCRIPT_OTHER;
    if (strcmp(kind, "enum") == 0 && n > 2)
        o.choices = source_of(r, &a[2]);
    add(r, o);
}

static bool read_absl(struct reader *r)
{
    for (int i = 0; i < r->text->n; i++) {
        const struct rb_py_token *t = token(r, i);
        if (t->kind == RB_PY_NAME && t->n > 7 && strncmp(t->at, "DEFINE_", 7) == 0 && is(r, i + 1, "("))
            read_define(r, i, text_of(r, t) + 7);
    }
    r->s->knows_all = false; // flags of every imported module count, too
    return r->s->n_options > 0;
}

// --- dataclasses of HfArgumentParser

static void read_field(struct reader *r, int i, int end)
{
    int equals = i + 2;
    while (equals < end && !is(r, equals, "="))
        equals++;
    const char *type = rb_py_source(r->text, (struct rb_py_span){i + 2, equals}, r->arena);
    struct rb_script_option o = {
        .name = text_of(r, token(r, i)), .line = token(r, i)->line, .is_required = equals >= end};
    const char *value = equals < end ? rb_py_source(r->text, (struct rb_py_span){equals + 1, end}, r->arena) : NULL;
    if (is_call_of(r, equals + 1, "field")) {
        const struct rb_py_argument *a;
        const int n = rb_py_arguments(r->text, equals + 2, r->arena, &a);
        value = keyword_source(r, a, n, "default");
        o.is_required = !value && !keyword(a, n, "default_factory") && !keyword(a, n, "default");
    }
    o.default_value = is_none(value) ? NULL : value;
    o.type = type_named(type);
    o.is_typed = true;
    o.form = o.type == RB_SCRIPT_BOOL ? RB_SCRIPT_EITHER : o.type == RB_SCRIPT_ANY ? RB_SCRIPT_OTHER : RB_SCRIPT_VALUE;
    add(r, o);
}

static int end_of_line(const struct reader *r, int i)
{
    while (i < r->text->n && token(r, i)->kind != RB_PY_NEWLINE)
        i++;
    return i;
}

// Fields of the class at i.
static void read_class(struct reader *r, int i)
{
    const int outer = token(r, i)->indent;
    int body = -1;
    for (int at = end_of_line(r, i) + 1; at < r->text->n; at = end_of_line(r, at) + 1) {
        const int indent = token(r, at)->indent;
        if (indent <= outer)
            return;
        body = body < 0 ? indent : body;
        if (indent == body && token(r, at)->kind == RB_PY_NAME && is(r, at + 1, ":"))
            read_field(r, at, end_of_line(r, at));
    }
}

// The beginning of the class of that name; -1: in another file.
static int find_class(const struct reader *r, const struct rb_py_token *name)
{
    for (int i = 0; i + 1 < r->text->n; i++)
        if (is(r, i, "class") && token(r, i + 1)->n == name->n && strncmp(token(r, i + 1)->at, name->at, name->n) == 0)
            return i;
    return -1;
}

static bool read_dataclasses(struct reader *r)
{
    bool any = false;
    for (int i = 0; i < r->text->n; i++) {
        if (!is_call_of(r, i, "HfArgumentParser"))
            continue;
        any = true;
        for (int k = i + 2; k < token(r, i + 1)->match; k++) {
            if (token(r, k)->kind != RB_PY_NAME)
                continue;
            const int at = find_class(r, token(r, k));
            if (at >= 0)
                read_class(r, at);
            if (at < 0 || is(r, at + 2, "("))
                r->unsure = true;
            if (token(r, k)->n >= 17 && strncmp(token(r, k)->at + token(r, k)->n - 17, "TrainingArguments", 17) == 0)
                r->s->uses_hf_arguments = true;
        }
    }
    r->s->knows_all = any && !r->unsure && !has_name(r, "return_remaining_strings") && !has_name(r, "parse_known_args");
    return any;
}

// --- LightningCLI: the arguments of __init__ of the module and of the data module

static void read_parameter(struct reader *r, const char *before, int first, int end)
{
    int equals = first;
    while (equals < end && !is(r, equals, "="))
        equals++;
    if (equals >= end || token(r, first)->kind != RB_PY_NAME)
        return;
    struct rb_script_option o = {
        .name = rb_arena_printf(r->arena, "%s.%s", before, text_of(r, token(r, first))),
        .default_value = rb_py_source(r->text, (struct rb_py_span){equals + 1, end}, r->arena),
        .line = token(r, first)->line,
    };
    const char *type = rb_py_source(r->text, (struct rb_py_span){first + 2, equals}, r->arena);
    o.type = is(r, first + 1, ":") ? type_named(type) : type_of_literal(o.default_value);
    o.form = o.type == RB_SCRIPT_ANY ? RB_SCRIPT_OTHER : RB_SCRIPT_VALUE;
    if (is_none(o.default_value))
        o.default_value = NULL;
    add(r, o);
}

static void read_constructor(struct reader *r, const char *before, int class_at)
{
    const int indent = token(r, class_at)->indent;
    for (int i = end_of_line(r, class_at) + 1; i < r->text->n && token(r, i)->indent > indent; i++) {
        if (!is(r, i, "def") || !is(r, i + 1, "__init__"))
            continue;
        const int end = token(r, i + 2)->match;
        for (int at = i + 3; at < end;) {
            int comma = at;
            while (comma < end && !is(r, comma, ","))
                comma = token(r, comma)->kind == RB_PY_OP && strchr("([{", *token(r, comma)->at)
                            ? token(r, comma)->match + 1
                            : comma + 1;
            read_parameter(r, before, at, comma < end ? comma : end);
            at = comma + 1;
        }
        return;
    }
}

static bool read_lightning(struct reader *r)
{
    if (!has_call(r, "LightningCLI"))
        return false;
    for (int i = 0; i < r->text->n; i++) {
        if (!is_call_of(r, i, "LightningCLI"))
            continue;
        const struct rb_py_argument *a;
        const int n = rb_py_arguments(r->text, i + 1, r->arena, &a);
        for (int k = 0; k < n && k < 2; k++) {
            const int at = find_class(r, token(r, a[k].value.end - 1));
            const bool is_data = a[k].name ? rb_py_is(a[k].name, "datamodule_class") : k == 1;
            if (at >= 0)
                read_constructor(r, is_data ? "data" : "model", at);
        }
    }
    return true;
}

// --- without a library

// NAME = literal, or NAME: type = literal, at the top of the file.
static void read_constants(struct reader *r, int last, bool capitals_only)
{
    for (int i = 0; i < last; i = end_of_line(r, i) + 1) {
        const struct rb_py_token *t = token(r, i);
        const int end = end_of_line(r, i);
        const int equals = is(r, i + 1, ":") ? i + 3 : i + 1;
        if (t->kind != RB_PY_NAME || t->indent > 0 || !is(r, equals, "="))
            continue;
        const char *value = rb_py_source(r->text, (struct rb_py_span){equals + 1, end}, r->arena);
        const enum rb_script_type type = type_of_literal(value);
        bool capitals = true;
        for (size_t k = 0; k < t->n; k++)
            capitals = capitals && !islower((unsigned char)t->at[k]);
        if (type == RB_SCRIPT_ANY || (capitals_only && !capitals && type == RB_SCRIPT_TEXT))
            continue;
        add(r, (struct rb_script_option){.name = text_of(r, t), .type = type, .default_value = value, .line = t->line});
    }
}

static bool read_configurator(struct reader *r)
{
    int at = 0;
    while (at < r->text->n &&
           !(token(r, at)->kind == RB_PY_STRING && strstr(text_of(r, token(r, at)), "configurator.py")))
        at++;
    if (at == r->text->n || !has_call(r, "exec"))
        return false;
    read_constants(r, at, false); // names set after it do not belong to it
    r->s->knows_all = true;
    return true;
}

// lr = float(sys.argv[1])
static bool read_argv(struct reader *r)
{
    for (int i = 2; i < r->text->n; i++) {
        if (!is(r, i, "argv") || !is(r, i + 1, "[") || token(r, i + 2)->kind != RB_PY_NUMBER || !is(r, i + 3, "]"))
            continue;
        const char *number = text_of(r, token(r, i + 2));
        int name = i, position = number[1] ? 0 : number[0] - '0';
        while (name > 0 && token(r, name - 1)->kind != RB_PY_NEWLINE)
            name--;
        if (position == 0 || token(r, name)->kind != RB_PY_NAME || !is(r, name + 1, "="))
            continue;
        const bool converted = token(r, name + 2)->kind == RB_PY_NAME && is(r, name + 3, "(");
        add(r,
            (struct rb_script_option){.name = text_of(r, token(r, name)),
                                      .type = converted ? type_named(text_of(r, token(r, name + 2))) : RB_SCRIPT_TEXT,
                                      .form = RB_SCRIPT_POSITION,
                                      .position = position,
                                      .line = token(r, i)->line});
    }
    return r->s->n_options > 0;
}

void rb_script_read_options(struct rb_script *s, struct rb_arena *arena)
{
    static const struct {
        enum rb_script_style style;
        bool (*read)(struct reader *r);
    } styles[] = {
        {RB_SCRIPT_HYDRA, read_hydra},
        {RB_SCRIPT_LIGHTNING, read_lightning},
        {RB_SCRIPT_DATACLASSES, read_dataclasses},
        {RB_SCRIPT_ARGPARSE, read_argparse},
        {RB_SCRIPT_CLICK, read_click},
        {RB_SCRIPT_TYPER, read_typer},
        {RB_SCRIPT_ABSL, read_absl},
        {RB_SCRIPT_CONFIGURATOR, read_configurator},
        {RB_SCRIPT_ARGV, read_argv},
    };
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
        struct reader r = {.text = &s->text, .arena = arena, .s = s};
        s->n_options = 0;
        s->knows_all = false;
        s->style = styles[i].style;
        if (styles[i].read(&r))
            return;
    }
    struct reader r = {.text = &s->text, .arena = arena, .s = s};
    s->n_options = 0;
    s->knows_all = false;
    s->style = RB_SCRIPT_CONSTANTS;
    read_constants(&r, s->text.n, true);
}
