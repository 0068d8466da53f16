// What rbprofile's subcommands share: their common options, and how one is run.
#ifndef RB_COMMANDS_RBPROFILE_COMMAND_H
#define RB_COMMANDS_RBPROFILE_COMMAND_H

#include "base/text/buf.h"
#include "base/file.h"
#include "base/options.h"
#include "profiles/import/import.h"
#include "profiles/store/store.h"

#define RB_DB_OPTION   {"db", 0, RB_OPT_STRING, false, "FILE", "profile store (default: RB_DB, else the user's own)", 0, 0}
#define RB_JSON_OPTION {"json", 0, RB_OPT_FLAG, false, NULL, "print one JSON document", 0, 0}
#define RB_END_OPTIONS {NULL, 0, RB_OPT_FLAG, false, NULL, NULL, 0, 0}

// Parses argv, prints help or runs; prints the error if there is one. Returns the exit code.
typedef bool rb_profile_run_fn(const struct rb_args *args, struct rb_err *err);
int rb_profile_carry_out(const struct rb_command *command, rb_profile_run_fn *run, int argc, char **argv);

// Opens the store that --db names. Owns: RB_AUTO(rb_profile_close_store), or rb_store_close.
bool rb_profile_open_store(const struct rb_args *args, bool read_only, struct rb_store **out, struct rb_err *err);
void rb_profile_close_store(struct rb_store **s);

// Runs the selected one of command->subcommands: options before its name count as if they came after it.
int rb_profile_dispatch(const struct rb_command *command, int argc, char **argv);

// Reads and checks all files, then stores all or none, and reports what was imported (--json: rb-import/1).
bool rb_profile_import_files(const struct rb_args *args, const char *const *paths, int n,
                             const struct rb_import_options *options, struct rb_err *err);

int rb_profile_import(int argc, char **argv);
int rb_profile_prices(int argc, char **argv);

#endif
