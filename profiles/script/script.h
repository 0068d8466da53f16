// Finds the options and the output of a Python training script without running it: options with literals, of argparse,
// click, typer, absl.flags, HfArgumentParser's dataclasses, LightningCLI, nanoGPT's configurator and sys.argv; print and
// logging calls with format strings. Computed values, and those in other files, are not found.
#ifndef RB_PROFILES_SCRIPT_H
#define RB_PROFILES_SCRIPT_H

#include "profiles/script/python_text.h"

// How the script gets its options. The last ones are used if nothing better is found.
enum rb_script_style {
    RB_SCRIPT_ARGPARSE, RB_SCRIPT_CLICK, RB_SCRIPT_TYPER, RB_SCRIPT_ABSL, RB_SCRIPT_DATACLASSES, RB_SCRIPT_LIGHTNING,
    RB_SCRIPT_CONFIGURATOR, // globals, overridden by nanoGPT's configurator.py
    RB_SCRIPT_ARGV,         // sys.argv by position
    RB_SCRIPT_HYDRA,        // name=value; the options stand in YAML files beside it, and are not read here
    RB_SCRIPT_CONSTANTS,    // takes nothing; has constants in capitals or at its top
};

enum rb_script_type { RB_SCRIPT_ANY, RB_SCRIPT_INT, RB_SCRIPT_FLOAT, RB_SCRIPT_TEXT, RB_SCRIPT_BOOL };

enum rb_script_form {
    RB_SCRIPT_VALUE,    // --name=value
    RB_SCRIPT_SWITCH,   // --name: a value is an error
    RB_SCRIPT_EITHER,   // --name, or --name=true
    RB_SCRIPT_OTHER,    // several values, or computed
    RB_SCRIPT_POSITION, // a word by its place
};

struct rb_script_option {
    const char *name;          // behind its dashes; for a constant or a place: the variable
    enum rb_script_type type;
    enum rb_script_form form;
    const char *default_value; // as written; NULL: none
    const char *choices;       // as written, with its brackets; NULL: none
    bool is_typed;             // a value of another type is an error
    bool is_required;
    bool is_optional;          // of a place: it may be left out
    bool is_alias;             // another name of the option before it
    int line;
    int position;              // of sys.argv; else 0
};

// A metric that the script prints or logs.
struct rb_script_metric {
    const char *name;     // one that a job may have
    const char *resource; // printed as resource=value on the same line; NULL: none is
    const char *shown;    // the line, with ... for each value
    bool is_report;       // as rbrun reads it: name=value, or JSON, beside the resource
    bool is_printed;      // false: logged with a library, and on no visible line
    bool is_validation;
    int goal;             // 1: more is better, -1: less is, 0: unknown from the name
    int line;
    const char *pattern;  // that reads the line, as metric.pattern of a job; NULL: none does
    bool counts_itself;   // the pattern finds the number of the unit, too
    const char *call;     // the source of the call that prints it
    const char *run;      // of what is written into TensorBoard's event files: the folder; "": none of its own. Else NULL
};

// The first line that names an epoch, or a step, beside its number.
struct rb_script_progress {
    const char *pattern; // NULL: there is none
    const char *call;
};

struct rb_script {
    struct rb_py_text text;
    enum rb_script_style style;
    const struct rb_script_option *options; // in the order of the script, [n_options]
    int n_options;
    // These are all options, and any other ends the script with an error. False if that is uncertain.
    bool knows_all;
    const struct rb_script_metric *metrics; // likewise, [n_metrics]
    int n_metrics;
    struct rb_script_progress epochs, steps;
    bool uses_hf_arguments; // transformers' TrainingArguments are options of it, too
    bool is_keras;          // Keras prints its own lines
};

// Owns: everything is the arena's or points into `source`, which must live as long.
void rb_script_read(const char *source, struct rb_arena *arena, struct rb_script *out);

// Does it import the module, or one of its parts?
bool rb_script_imports(const struct rb_script *s, const char *module);
// Is it a name in the source, outside strings and comments?
bool rb_script_names(const struct rb_script *s, const char *name);
// The number of the first unit where a loop over epochs counts them: 0 or 1; -1: it is not seen. call: what prints it.
int rb_script_first_epoch(const struct rb_script *s, const char *call, struct rb_arena *arena);

// -1, 0, 1 as rb_script_metric.goal.
int rb_script_goal(const char *name);

// The parts, called by rb_script_read.
void rb_script_read_options(struct rb_script *s, struct rb_arena *arena);
void rb_script_read_metrics(struct rb_script *s, struct rb_arena *arena);

#endif
