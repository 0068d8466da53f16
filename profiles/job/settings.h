// Options that belong to a part which the job file does not know: the keys of a scheduler or a sampler that only its owner
// understands. The owner reads them with a table and refuses the rest; errors name the file and the line.
#ifndef RB_PROFILES_JOB_SETTINGS_H
#define RB_PROFILES_JOB_SETTINGS_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "base/document/json.h"

struct rb_setting {
    const char *key;
    enum rb_node_kind kind;      // INT, FLOAT, BOOL or STRING
    double number;               // INT, FLOAT
    bool boolean;
    const char *text;            // as written
    struct rb_place place;       // for errors, with the path of the key
    const char *path;            // "scheduler.quantile"
};

struct rb_settings {
    const struct rb_setting *items;
    int n;
};

#define RB_SETTINGS_MAX 32 // options of one owner: its author writes them

// One row of an owner's table.
struct rb_setting_rule {
    const char *key;
    enum { RB_SETTING_INT, RB_SETTING_NUMBER, RB_SETTING_BOOL, RB_SETTING_CHOICE } kind;
    double min, max;             // INT, NUMBER
    double fallback;             // INT, NUMBER, BOOL (0 or 1), CHOICE (index)
    const char *const *choices;  // CHOICE, NULL-terminated
    const char *summary;         // for help and the reference
};

// Reads all settings by the owner's rules: out [n_rules], in the order of the rules; a CHOICE gives its index.
// Errors: an unknown key ("did you mean"), a wrong type, a value out of range.
bool rb_settings_read(const struct rb_settings *s, const char *owner, const struct rb_setting_rule *rules, int n_rules,
                      double *out, struct rb_err *err);
// Collects the children of a map that are not among `known`; lists and maps are refused, and keys that look like a
// known one.
bool rb_settings_collect(const struct rb_node *map, const char *const *known, struct rb_arena *arena,
                         struct rb_settings *out, struct rb_err *err);
void rb_settings_write(const struct rb_settings *s, struct rb_json *j); // as further keys of an open object

#endif
