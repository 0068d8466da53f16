// Parses command lines. A command is a table of options and positionals; --help is generated from it, examples first.
// Long options only, `--name value` or `--name=value`; a flag may be repeated only where the row says so.
// Unknown options get "did you mean" and exit 2.
#ifndef RB_BASE_OPTIONS_H
#define RB_BASE_OPTIONS_H

#include "base/errors/err.h"

#include <stdbool.h>
#include <stdint.h>

enum rb_option_type { RB_OPT_FLAG, RB_OPT_STRING, RB_OPT_INT, RB_OPT_DOUBLE, RB_OPT_DURATION, RB_OPT_MONEY };

struct rb_option {
    const char *name;         // without dashes; NULL ends the table
    char letter;              // short form, 0: none (only -o, -n, -f, -h exist)
    enum rb_option_type type;
    bool repeatable;
    const char *metavar;      // "FILE", "D", ...
    const char *help;         // one line: what it does, unit, default
    double min, max;          // INT and DOUBLE: range (both 0: any)
};

struct rb_args;
struct rb_command;

// Commands that the first word selects. A name that begins with "--" is an option that selects another command.
struct rb_subcommand {
    const char *name, *summary; // summary: for --help, a few words. name NULL ends the table
    const struct rb_command *command;
};

struct rb_command {
    const char *name;         // "rbplan", or "rbrun resume"
    const char *usage;        // "[options] JOB.yaml"
    const char *summary;      // one sentence
    const char *examples;     // whole lines, printed first
    const struct rb_option *options;
    int min_args, max_args;   // positionals; max -1: any number
    const struct rb_subcommand *subcommands; // NULL: none
    bool (*run)(const struct rb_args *args, struct rb_err *err); // NULL: a subcommand has to be selected
};

struct rb_args {
    const struct rb_command *command;
    int n_args;
    const char **args;        // positionals, borrowed from argv
    int n_given;              // options given, in order
    struct { const struct rb_option *option; const char *text; } *given;
    bool help;                // --help was given: print it (rb_args_help) and exit 0
    bool help_as_json;        // --help=json, the source of man pages and completions
    int *out_code;            // for `run`: the exit code of a command that succeeds, 0 unless it is set
};

// argv[0] is skipped. `--` ends options. Owns: finish with rb_args_finish.
bool rb_args_parse(struct rb_args *out, const struct rb_command *command, int argc, char **argv, struct rb_err *err);
void rb_args_finish(struct rb_args *a);
void rb_args_help(const struct rb_args *a); // to stdout, for people or as JSON
// Treats `rbplan help import` as `rbplan import --help`: rewrites argv if its first word is help. For mains.
void rb_args_help_word(int argc, char **argv);
// Is --json anywhere on the command line? For errors of a command line that cannot be parsed.
bool rb_args_ask_for_json(int argc, char **argv);
// The subcommand of that name; NULL: none.
const struct rb_subcommand *rb_subcommand_find(const struct rb_command *command, const char *name);

// Last value given, or the default. Values were validated by rb_args_parse.
bool rb_args_flag(const struct rb_args *a, const char *name);
const char *rb_args_string(const struct rb_args *a, const char *name, const char *fallback);
int64_t rb_args_int(const struct rb_args *a, const char *name, int64_t fallback);
double rb_args_double(const struct rb_args *a, const char *name, double fallback);
int64_t rb_args_duration_us(const struct rb_args *a, const char *name, int64_t fallback_us);
int64_t rb_args_money_uusd(const struct rb_args *a, const char *name, int64_t fallback_uusd);
// i-th value of a repeatable option, NULL past the end.
const char *rb_args_nth(const struct rb_args *a, const char *name, int i);

#endif
