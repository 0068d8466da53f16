// The options of a Python script that uses argparse, as far as they can be read without running it: calls of add_argument with
// literals. What is computed, or spread over helpers, is not seen. Reads text, runs nothing.
#ifndef RB_PROFILES_PYTHON_OPTIONS_H
#define RB_PROFILES_PYTHON_OPTIONS_H

#include "base/arena.h"

#include <stdbool.h>

struct rb_python_option {
    const char *name;          // of "--name"
    const char *type;          // as written: "int", "float", "str", ...; NULL: none
    const char *default_value; // as written; NULL: none
    const char *choices;       // as written, with its brackets; NULL: none
    bool is_switch;            // action=...: takes no value, or not one
};

// In the order of the script; positional arguments are left out. Owns: all texts are the arena's. Never fails: what is no
// call of add_argument is passed over.
int rb_python_options_read(const char *script, struct rb_arena *arena, const struct rb_python_option **out);

#endif
