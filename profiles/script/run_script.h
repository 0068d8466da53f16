// Finds the scripts that the `run` of a job starts, from its text alone: `python3 train.py`, `torchrun ... train.py`,
// `python -m pkg.train`, `./train.sh`. A name that the shell would have to expand is not found. Nothing is run.
#ifndef RB_PROFILES_RUN_SCRIPT_H
#define RB_PROFILES_RUN_SCRIPT_H

#include "profiles/script/shell_text.h"

struct rb_run_script {
    const char *path;      // from the work directory, after the `cd`s before it; absolute where it is written so
    const char *written;   // as written in the command, quotes removed
    size_t at;             // where
    size_t first, end;     // the command that it belongs to: bytes first..end - 1
    bool is_module;        // -m pkg.train; path is then pkg/train.py
};

// In order; *out is the arena's. Scripts behind a `cd` to somewhere unknown are left out.
int rb_run_scripts(const char *command, const struct rb_shell_text *text, struct rb_arena *arena,
                   const struct rb_run_script **out);

// Does one of its commands bring files, such as git, curl or cp? Then a missing file may be there in time.
bool rb_run_brings_files(const char *command, const struct rb_shell_text *text, struct rb_arena *arena);

#endif
