// Reads the tables of one measured application from its folder; only apps_load.c needs this.
#ifndef RB_SIMULATOR_APPS_TABLES_H
#define RB_SIMULATOR_APPS_TABLES_H

#include "base/document/csv.h"
#include "simulator/cluster/apps.h"

#define RB_APP_MOST_BATCH (1 << 26)

struct rb_app_loading {
    struct rb_arena *arena; // of what is loaded
    const char *dir;
    struct rb_err *err;
};

// Reads a file with exactly these columns, at most 8, and at least one row; out_columns: the position of each.
bool rb_app_read_columns(const struct rb_app_loading *l, const char *path, const char *const *columns, int n,
                         struct rb_csv *out, int *out_columns);

// Iteration times on the measured placements and between them.
bool rb_app_load_tables(const struct rb_app_loading *l, struct rb_app *app);

#endif
