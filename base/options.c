// Command lines against a table. Every value is checked while parsing, so that the accessors cannot fail.
#include "base/options.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/text/closest.h"
#include "base/errors/exit_codes.h"
#include "base/document/json.h"
#include "base/text/number.h"
#include "base/text/units.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_range(const struct rb_option *option)
{
    return option->min < 0 || option->min > 0 || option->max < 0 || option->max > 0;
}

static bool usage_error(const struct rb_command *command, struct rb_err *err, const char *message)
{
    return rb_err_set(err, RB_E_OPERANDS, "%s (see %s --help)", message, command->name);
}

static const struct rb_option *find_long(const struct rb_command *command, const char *name, size_t len)
{
    for (const struct rb_option *o = command->options; o && o->name; o++)
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    return NULL;
}

static const struct rb_option *find_short(const struct rb_command *command, char letter)
{
    for (const struct rb_option *o = command->options; o && o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static bool unknown_option(const struct rb_command *command, const char *arg, struct rb_err *err)
{
    const char *names[130];
    int n = 0;
    names[n++] = "help";
    names[n++] = "version";
    for (const struct rb_option *o = command->options; o && o->name && n < 130; o++)
        names[n++] = o->name;
    const char *word = arg + strspn(arg, "-");
    RB_AUTO(rb_auto_free) char *name = strndup(word, strcspn(word, "="));
    const char *close = name && arg[1] == '-' ? rb_closest(name, names, n) : NULL;
    if (close)
        return rb_err_set(err, RB_E_OPTION_UNKNOWN, "unknown option %.60s; did you mean --%s? (see %s --help)", arg,
                          close, command->name);
    return rb_err_set(err, RB_E_OPTION_UNKNOWN, "unknown option %.60s (see %s --help)", arg, command->name);
}

static bool bad_value(const struct rb_option *o, const char *expected, const char *text, struct rb_err *err)
{
    return rb_err_set(err, RB_E_OPTION_VALUE, "--%s: expected %s, got \"%.60s\"", o->name, expected, text);
}

static bool check_int(const struct rb_option *o, const char *text, struct rb_err *err)
{
    char range[RB_RANGE_BYTES];
    int64_t v;
    const int64_t min = has_range(o) && o->min > -0x1p63 ? (int64_t)o->min : INT64_MIN;
    const int64_t max = has_range(o) && o->max < 0x1p63 ? (int64_t)o->max : INT64_MAX;
    return (rb_parse_int(text, &v) && v >= min && v <= max) || bad_value(o, rb_int_range(min, max, range), text, err);
}

static bool check_double(const struct rb_option *o, const char *text, struct rb_err *err)
{
    char range[RB_RANGE_BYTES];
    double v;
    const double min = has_range(o) ? o->min : -INFINITY, max = has_range(o) ? o->max : INFINITY;
    return (rb_parse_double(text, &v) && v >= min && v <= max) ||
           bad_value(o, rb_double_range(min, max, range), text, err);
}

static bool check_value(const struct rb_option *o, const char *text, struct rb_err *err)
{
    int64_t ignored;
    switch (o->type) {
    case RB_OPT_FLAG:
    case RB_OPT_STRING:
        return true;
    case RB_OPT_INT:
        return check_int(o, text, err);
    case RB_OPT_DOUBLE:
        return check_double(o, text, err);
    case RB_OPT_DURATION:
        return rb_parse_duration(text, &ignored, err) || rb_err_prefix(err, "--%s", o->name);
    case RB_OPT_MONEY:
        return rb_parse_money(text, &ignored, err) || rb_err_prefix(err, "--%s", o->name);
    }
    assert(!"an option type without a check");
    return false;
}

static bool add_given(struct rb_args *a, const struct rb_option *option, const char *text, struct rb_err *err)
{
    for (int i = 0; i < a->n_given; i++)
        if (a->given[i].option == option && !option->repeatable)
            return rb_err_set(err, RB_E_OPTION_REPEATED, "--%s is given twice; give it once", option->name);
    if (!check_value(option, text, err))
        return false;
    a->given[a->n_given].option = option;
    a->given[a->n_given].text = text;
    a->n_given++;
    return true;
}

// Finds the value of an option: `attached` to it, or the next argument.
static bool take_value(const struct rb_option *o, const char *attached, int argc, char **argv, int *i, const char **out,
                       struct rb_err *err)
{
    if (o->type == RB_OPT_FLAG) {
        if (attached)
            return rb_err_set(err, RB_E_OPTION_TAKES_NO_VALUE, "--%s takes no value, got \"%.60s\"", o->name, attached);
        *out = "";
        return true;
    }
    if (attached) {
        *out = attached;
        return true;
    }
    const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
    if (!next || strncmp(next, "--", 2) == 0)
        return rb_err_set(err, RB_E_OPTION_NEEDS_VALUE, "--%s needs a value: --%s=%s", o->name, o->name,
                          o->metavar ? o->metavar : "VALUE");
    ++*i;
    *out = next;
    return true;
}

static bool parse_option(struct rb_args *a, int argc, char **argv, int *i, struct rb_err *err)
{
    const char *arg = argv[*i], *attached = NULL, *text = NULL;
    const struct rb_option *option;
    if (arg[1] == '-') {
        const size_t len = strcspn(arg + 2, "=");
        option = find_long(a->command, arg + 2, len);
        attached = arg[2 + len] == '=' ? arg + 2 + len + 1 : NULL;
    } else {
        option = find_short(a->command, arg[1]);
        attached = arg[2] ? arg + 2 : NULL;
    }
    if (!option)
        return unknown_option(a->command, arg, err);
    return take_value(option, attached, argc, argv, i, &text, err) && add_given(a, option, text, err);
}

static bool check_count(const struct rb_args *a, struct rb_err *err)
{
    const struct rb_command *c = a->command;
    char message[256];
    if (a->n_args < c->min_args) {
        snprintf(message, sizeof message, "an argument is missing; usage: %s %s", c->name, c->usage);
        return usage_error(c, err, message);
    }
    if (c->max_args >= 0 && a->n_args > c->max_args) {
        snprintf(message, sizeof message, "unexpected argument \"%.60s\"", a->args[c->max_args]);
        return usage_error(c, err, message);
    }
    return true;
}

// --help counts anywhere on the line: a user who needs help may have the rest wrong.
static bool asks_for_help(struct rb_args *a, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        a->help_as_json = strcmp(argv[i], "--help=json") == 0;
        a->help = a->help_as_json || strcmp(argv[i], "--help") == 0;
        if (a->help)
            return true;
    }
    return false;
}

static bool parse_all(struct rb_args *a, int argc, char **argv, struct rb_err *err)
{
    bool options_ended = false;
    if (asks_for_help(a, argc, argv))
        return true;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (options_ended || arg[0] != '-' || arg[1] == '\0') {
            a->args[a->n_args++] = arg;
        } else if (strcmp(arg, "--") == 0) {
            options_ended = true;
        } else if (strcmp(arg, "-h") == 0) {
            a->help = true;
            return true;
        } else if (!parse_option(a, argc, argv, &i, err)) {
            return false;
        }
    }
    return check_count(a, err);
}

bool rb_args_parse(struct rb_args *out, const struct rb_command *command, int argc, char **argv, struct rb_err *err)
{
    const size_t room = argc > 0 ? (size_t)argc : 1;
    struct rb_args a = {.command = command};
    a.args = rb_xcalloc(room, sizeof *a.args);
    a.given = rb_xcalloc(room, sizeof *a.given);
    if (!parse_all(&a, argc, argv, err)) {
        rb_args_finish(&a);
        return false;
    }
    *out = a;
    return true;
}

void rb_args_finish(struct rb_args *a)
{
    free(a->args);
    free(a->given);
    *a = (struct rb_args){0};
}

static void put_row(struct rb_buf *out, const char *left, const char *help)
{
    rb_buf_printf(out, strlen(left) > 26 ? "  %s\n%30s%s\n" : "  %-26s  %s%s\n", left, "", help);
}

static void put_option(struct rb_buf *out, const struct rb_option *o)
{
    char left[80], letter[5] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->type == RB_OPT_FLAG ? "" : " ",
             o->type == RB_OPT_FLAG ? ""
             : o->metavar           ? o->metavar
                                    : "VALUE");
    put_row(out, left, o->help ? o->help : "");
}

static bool is_program(const struct rb_command *command)
{
    return strchr(command->name, ' ') == NULL;
}

static void put_exit_codes(const struct rb_command *command, struct rb_buf *out)
{
    if (!is_program(command))
        return;
    rb_buf_puts(out, "\nExit codes:\n");
    for (const struct rb_exit_meaning *m = rb_exit_meanings; m->meaning; m++)
        rb_buf_printf(out, "  %3d  %s\n", (int)m->code, m->meaning);
}

static void help_for_people(const struct rb_command *command, struct rb_buf *out)
{
    if (command->examples) {
        const size_t len = strlen(command->examples);
        rb_buf_printf(out, "Examples:\n%s%s\n", command->examples,
                      len && command->examples[len - 1] == '\n' ? "" : "\n");
    }
    rb_buf_printf(out, "Usage: %s %s\n\n%s\n", command->name, command->usage, command->summary);
    if (command->subcommands)
        rb_buf_puts(out, "\nSubcommands, each with a --help of its own:\n");
    size_t width = 11;
    for (const struct rb_subcommand *s = command->subcommands; s && s->name; s++)
        width = strlen(s->name) > width ? strlen(s->name) : width;
    for (const struct rb_subcommand *s = command->subcommands; s && s->name; s++)
        rb_buf_printf(out, "  %-*s %s\n", (int)width, s->name, s->summary);
    rb_buf_puts(out, "\nOptions:\n");
    for (const struct rb_option *o = command->options; o && o->name; o++)
        put_option(out, o);
    put_row(out, "-h, --help", "print this and exit");
    if (is_program(command))
        put_row(out, "    --version", "print version, build and formats, and exit");
    put_exit_codes(command, out);
}

static const char *const type_names[] = {
    [RB_OPT_FLAG] = "flag",     [RB_OPT_STRING] = "string",     [RB_OPT_INT] = "int",
    [RB_OPT_DOUBLE] = "double", [RB_OPT_DURATION] = "duration", [RB_OPT_MONEY] = "money",
};

static void option_as_json(const struct rb_option *o, struct rb_json *j)
{
    const char letter[2] = {o->letter, '\0'};
    const char *metavar = o->type == RB_OPT_FLAG ? NULL : o->metavar ? o->metavar : "VALUE";
    rb_json_put(j, "{name: %s", o->name);
    rb_json_kstring(j, "letter", o->letter ? letter : NULL);
    rb_json_put(j, "type: %s repeatable: %i metavar: %s|null help: %s}", type_names[o->type], o->repeatable, metavar,
                o->help ? o->help : "");
}

static void exit_codes_as_json(const struct rb_command *command, struct rb_json *j)
{
    if (!is_program(command))
        return;
    rb_json_karray(j, "exit_codes");
    for (const struct rb_exit_meaning *m = rb_exit_meanings; m->meaning; m++) {
        rb_json_put(j, "{code: %d meaning: %s}", m->code, m->meaning);
    }
    rb_json_end_array(j);
}

static void help_as_json(const struct rb_command *command, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_put(&j, "{name: %s usage: %s summary: %s examples: %s|null options: [", command->name,
                command->usage, command->summary, command->examples);
    for (const struct rb_option *o = command->options; o && o->name; o++)
        option_as_json(o, &j);
    rb_json_put(&j, "] subcommands: [");
    for (const struct rb_subcommand *s = command->subcommands; s && s->name; s++) {
        rb_json_put(&j, "{name: %s summary: %s}", s->name, s->summary);
    }
    rb_json_end_array(&j);
    exit_codes_as_json(command, &j);
    rb_json_end_object(&j);
    rb_buf_putc(out, '\n');
}

void rb_args_help(const struct rb_args *a)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    (a->help_as_json ? help_as_json : help_for_people)(a->command, &out);
    fwrite(out.data, 1, out.len, stdout);
}

void rb_args_help_word(int argc, char **argv)
{
    static char option[] = "--help";
    if (argc < 2 || strcmp(argv[1], "help") != 0)
        return;
    memmove(&argv[1], &argv[2], (size_t)(argc - 2) * sizeof *argv);
    argv[argc - 1] = option;
}

bool rb_args_ask_for_json(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

const struct rb_subcommand *rb_subcommand_find(const struct rb_command *command, const char *name)
{
    for (const struct rb_subcommand *s = command->subcommands; s && s->name; s++) {
        if (strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}

static const struct rb_option *must_find(const struct rb_args *a, const char *name, enum rb_option_type type)
{
    const struct rb_option *option = find_long(a->command, name, strlen(name));
    assert(option && option->type == type); // it is a programming error to ask for an option that is not in the table
    (void)type;
    return option;
}

static const char *last_given(const struct rb_args *a, const struct rb_option *option)
{
    for (int i = a->n_given - 1; i >= 0; i--)
        if (a->given[i].option == option)
            return a->given[i].text;
    return NULL;
}

bool rb_args_flag(const struct rb_args *a, const char *name)
{
    return last_given(a, must_find(a, name, RB_OPT_FLAG)) != NULL;
}

const char *rb_args_string(const struct rb_args *a, const char *name, const char *fallback)
{
    const char *text = last_given(a, must_find(a, name, RB_OPT_STRING));
    return text ? text : fallback;
}

int64_t rb_args_int(const struct rb_args *a, const char *name, int64_t fallback)
{
    const char *text = last_given(a, must_find(a, name, RB_OPT_INT));
    if (text)
        rb_parse_int(text, &fallback);
    return fallback;
}

double rb_args_double(const struct rb_args *a, const char *name, double fallback)
{
    const char *text = last_given(a, must_find(a, name, RB_OPT_DOUBLE));
    if (text)
        rb_parse_double(text, &fallback);
    return fallback;
}

int64_t rb_args_duration_us(const struct rb_args *a, const char *name, int64_t fallback_us)
{
    const char *text = last_given(a, must_find(a, name, RB_OPT_DURATION));
    if (text)
        rb_parse_duration(text, &fallback_us, NULL);
    return fallback_us;
}

int64_t rb_args_money_uusd(const struct rb_args *a, const char *name, int64_t fallback_uusd)
{
    const char *text = last_given(a, must_find(a, name, RB_OPT_MONEY));
    if (text)
        rb_parse_money(text, &fallback_uusd, NULL);
    return fallback_uusd;
}

const char *rb_args_nth(const struct rb_args *a, const char *name, int i)
{
    const struct rb_option *option = find_long(a->command, name, strlen(name));
    assert(option);
    for (int k = 0; k < a->n_given; k++)
        if (a->given[k].option == option && i-- == 0)
            return a->given[k].text;
    return NULL;
}
