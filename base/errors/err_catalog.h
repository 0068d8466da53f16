// Lists every error. Each has a class, on which programs act, and a number, under which people find its cause and remedy:
// `rbplan explain RB1112`, docs/errors. The rows are in base/err_catalog.def. A number stands for one remedy, not for one place
// in the sources. Numbers are permanent: none is ever reused with another meaning, and one that is no longer raised
// keeps its row, under a name that begins with "retired-".
#ifndef RB_BASE_ERR_CATALOG_H
#define RB_BASE_ERR_CATALOG_H

// A class exists only because some caller acts on it.
enum rb_err_code {
    RB_ERR_NONE = 0,
    RB_ERR_INVALID,         // usage or bad input: exit 2
    RB_ERR_IO,              // the operating system or a peer failed: exit 1
    RB_ERR_NOT_FOUND,       // the named thing does not exist: exit 1 (the caller may use a default)
    RB_ERR_INFEASIBLE,      // no plan satisfies the constraints: exit 3
    RB_ERR_STOPPED,         // deadline missed or budget stop while running: exit 4
    RB_ERR_DENIED,          // credentials, permission or quota: exit 5
    RB_ERR_CAPACITY,        // the cloud has no such machine now: exit 6, or the next offer
    RB_ERR_PRICE,           // price missing or too old: exit 7
    RB_ERR_THROTTLED,       // asked to slow down: retry with the same token
    RB_ERR_UNKNOWN_OUTCOME, // sent, no answer: never retried blindly, looked up by token first
    RB_ERR_INCOMPLETE,      // the run is over and no trial was trained to the end: exit 8
    RB_ERR_BROKEN_SCRIPT,   // the training script fails with every input: exit 9
};

// RB_E_OPTION_UNKNOWN and so on, by area; 1000 + class is the general number of a class.
enum rb_err_number {
    RB_E_NONE = 0,
#define E(number, name, class, words, cause, remedy, example) RB_E_##name = number,
#include "base/errors/err_catalog.def"
#undef E
};

struct rb_err_entry {
    int number;
    enum rb_err_code code; // the class follows from the number
    const char *name;      // for lists and anchors: lower case, words joined by -
    const char *cause;     // one sentence
    const char *remedy;    // one sentence or two: what to do next
    const char *example;   // an example message, as printed after the command's name
};

// One hundred or several hundred numbers of one area.
struct rb_err_area {
    int first;
    const char *title, *scope;
};

// The row of a number; NULL if there never was one.
const struct rb_err_entry *rb_err_entry(int number);
// All rows, ascending.
const struct rb_err_entry *rb_err_entries(int *out_n);
// The area a number lies in; number >= 1000.
const struct rb_err_area *rb_err_area(int number);

#endif
