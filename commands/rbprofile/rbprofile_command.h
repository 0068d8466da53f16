// What rbprofile's subcommands share.
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

// Opens the store that --db names. Owns: RB_AUTO(rb_profile_close_store), or rb_store_close.
bool rb_profile_open_store(const struct rb_args *args, bool read_only, struct rb_store **out, struct rb_err *err);
void rb_profile_close_store(struct rb_store **s);

// Reads and checks all files, then stores all or none, and reports what was imported (--json: rb-import/1).
bool rb_profile_import_files(const struct rb_args *args, const char *const *paths, int n,
                             const struct rb_import_options *options, struct rb_err *err);

extern const struct rb_command rb_profile_import, rb_profile_prices, rb_profile_train, rb_profile_provision,
    rb_profile_reservations, rb_profile_history;

#endif
