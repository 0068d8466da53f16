// What is known of the frameworks that scripts import: how they report, which words they understand besides the script's own
// options, where their checkpoints are. One row each; the draft asks for properties and never for a name.
#ifndef RB_PROFILES_FRAMEWORKS_H
#define RB_PROFILES_FRAMEWORKS_H

#include "profiles/script/script.h"

// Lists end with NULL. Words are those of trial.args; a word before whose = stands an option that the script must have is
// marked with a ? at its beginning.
struct rb_framework {
    const char *name;         // in remarks
    const char *modules[4];   // one of them is imported
    const char *names[6];     // and one of these is named in the source; none: no matter
    bool by_its_arguments;    // the library reads the command line itself, and the words below are its own
    const char *format;       // of metric; NULL: the lines that the script itself prints
    const char *metric;       // NULL: its name is found in the source
    bool minimize;
    const char *file, *base;  // of metric; NULL: not given
    const char *unit;         // NULL: epoch
    const char *end;          // the option of the length; NULL: the script's own
    bool is_horizon;          // the length is also the horizon of the learning rate
    const char *resume;       // NULL: the script's own option
    const char *checkpoint[4], *fixed[10];
    const char *files[3];     // of checkpoint; none: all of them
    bool resumes_in_place;
    bool uses_all_gpus;       // of the node, without a launcher
    const char *subcommand;   // between the script and its words
    const char *style;        // of trial.args
};

// The first row that fits; NULL: none, a script that prints and saves by itself.
const struct rb_framework *rb_framework_of(const struct rb_script *s);

// What of the source decides how it may be ended and gone on from.
struct rb_script_habits {
    bool has_schedule;      // of the learning rate, over the whole length: a cosine, a line to zero, one cycle
    bool needs_launcher;    // torchrun: it reads its rank without a value to fall back on
    bool may_use_launcher;  // it looks whether it has a rank
    bool uses_accelerate;
    bool may_need_no_gpu;   // its library is usually run on CPUs, and the source names no GPU
    const char *saved_name; // of the file that it saves, a * where its name is computed; NULL: it is not seen
};
void rb_script_habits(const struct rb_script *s, const char *source, struct rb_arena *arena, struct rb_script_habits *out);

#endif
