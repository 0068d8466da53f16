// Lists the exit codes of all commands. An error ends a command with the code of its class (base/errors/err.c); --help and the man
// pages show the table, and docs/formats/json.md repeats it beside the classes.
#ifndef RB_BASE_EXIT_CODES_H
#define RB_BASE_EXIT_CODES_H

enum rb_exit_code {
    RB_CODE_OK = 0,
    RB_CODE_FAILED = 1,
    RB_CODE_INVALID = 2,
    RB_CODE_INFEASIBLE = 3,
    RB_CODE_STOPPED = 4,
    RB_CODE_DENIED = 5,
    RB_CODE_CAPACITY = 6,
    RB_CODE_PRICE = 7,
    RB_CODE_INCOMPLETE = 8,
    RB_CODE_BROKEN_SCRIPT = 9,
    RB_CODE_INTERRUPTED = 130,
};

struct rb_exit_meaning {
    enum rb_exit_code code;
    const char *meaning; // one line, as the predicate of a sentence
};

extern const struct rb_exit_meaning rb_exit_meanings[]; // ascending, ends with meaning NULL

#endif
