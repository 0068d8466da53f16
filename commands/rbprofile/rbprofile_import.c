// rbprofile import: imports files.
#include "commands/rbprofile/rbprofile_command.h"

#include "base/clock.h"
#include "base/document/json.h"
#include "profiles/import/import.h"

#include <stdlib.h>

static const struct rb_option import_options[] = {
    {"name", 0, RB_OPT_STRING, false, "P", "name of the profile, if the file has none or another", 0, 0},
    {"format", 0, RB_OPT_STRING, false, "F",
     "throughput-csv, prices-csv, provision-csv, spot-csv or capacity-csv (default: recognised by the header)", 0, 0},
    {"accelerator", 0, RB_OPT_STRING, false, "A", "throughput-csv: the accelerator of the measurement", 0, 0},
    {"batch", 0, RB_OPT_DOUBLE, false, "B", "throughput-csv: batch per GPU that trials train with", 1e-9, 1e9},
    {"units-per-epoch", 0, RB_OPT_DOUBLE, false, "U", "throughput-csv: iterations per unit of resource on one GPU",
     1e-9, 1e9},
    {"sampled-every", 0, RB_OPT_DOUBLE, false, "S", "capacity-csv: seconds between two looks at the market", 1e-3, 1e6},
    {"set", 0, RB_OPT_STRING, false, "SET", "capacity-csv: the set of rows to read, where there are several", 0, 0},
    {"together", 0, RB_OPT_DOUBLE, false, "T",
     "capacity-csv: share of losses that take all nodes, where one node was asked for", 0, 1},
    RB_DB_OPTION,
    RB_JSON_OPTION,
    RB_END_OPTIONS};

static bool print_imports(const struct rb_import *imports, int n, const char *const *paths,
                          const struct rb_store *store, struct rb_err *err)
{
    struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out, .pretty = true};
    rb_json_put(&j, "{format: 'rb-import/1' db: %s files: [", rb_store_path(store));
    for (int i = 0; i < n; i++)
        rb_json_put(&j, "{file: %s|null format: %s profile: %s|null rows: %d}", paths[i],
                    rb_import_format_name(imports[i].format), imports[i].profile_name, imports[i].n_rows);
    rb_json_put(&j, "]}");
    rb_buf_putc(&out, '\n');
    return rb_print(&out, err);
}

static bool say_imports(const struct rb_import *imports, int n, const char *const *paths, struct rb_err *err)
{
    struct rb_buf out = RB_BUF_INIT;
    for (int i = 0; i < n; i++) {
        const struct rb_import *m = &imports[i];
        rb_buf_printf(&out, "%s: ", paths[i]);
        if (m->format != RB_IMPORT_PROFILE) {
            rb_buf_printf(&out, "%s, %d row%s", rb_import_format_name(m->format), m->n_rows, m->n_rows == 1 ? "" : "s");
        }
        if (m->profile_name) {
            rb_buf_printf(&out, "%sprofile %s", m->format == RB_IMPORT_PROFILE ? "" : ", ", m->profile_name);
        }
        rb_buf_putc(&out, '\n');
    }
    return rb_print(&out, err);
}

static bool store_all(const struct rb_import *imports, int n, struct rb_store *store, struct rb_err *err)
{
    const int64_t now_us = rb_clock_unix_us();
    if (!rb_store_begin(store, err)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (!rb_import_store(&imports[i], store, now_us, err)) {
            rb_store_rollback(store);
            return false;
        }
    }
    if (!rb_store_commit(store, err)) {
        rb_store_rollback(store);
        return false;
    }
    return true;
}

// Everything is read and checked before the store is opened: a bad file does not even leave an empty store.
static bool read_and_store(const struct rb_args *args, const char *const *paths, int n,
                           const struct rb_import_options *options, struct rb_import *imports, struct rb_err *err)
{
    RB_AUTO(rb_profile_close_store) struct rb_store *store = NULL;
    for (int i = 0; i < n; i++) {
        if (!rb_import_read(paths[i], options, &imports[i], err)) {
            return false;
        }
    }
    if (!rb_profile_open_store(args, false, &store, err) || !store_all(imports, n, store, err)) {
        return false;
    }
    return rb_args_flag(args, "json") ? print_imports(imports, n, paths, store, err)
                                      : say_imports(imports, n, paths, err);
}

bool rb_profile_import_files(const struct rb_args *args, const char *const *paths, int n,
                             const struct rb_import_options *options, struct rb_err *err)
{
    struct rb_import *imports = rb_xcalloc((size_t)n, sizeof(*imports));
    const bool ok = read_and_store(args, paths, n, options, imports, err);
    for (int i = 0; i < n; i++) {
        rb_import_finish(&imports[i]);
    }
    free(imports);
    return ok;
}

static bool run_import(const struct rb_args *args, struct rb_err *err)
{
    struct rb_import_options options = {.name = rb_args_string(args, "name", NULL),
                                        .accelerator = rb_args_string(args, "accelerator", NULL),
                                        .batch = rb_args_double(args, "batch", 0),
                                        .units_per_epoch = rb_args_double(args, "units-per-epoch", 0),
                                        .capacity = {.set = rb_args_string(args, "set", NULL),
                                                     .sampled_s = rb_args_double(args, "sampled-every", 0),
                                                     .has_together = rb_args_double(args, "together", -1) >= 0,
                                                     .together = rb_args_double(args, "together", 0)}};
    const char *format = rb_args_string(args, "format", NULL);
    if (format && !rb_import_format_parse(format, &options.format, err)) {
        return false;
    }
    return rb_profile_import_files(args, args->args, args->n_args, &options, err);
}

const struct rb_command rb_profile_import = {
    .name = "rbprofile import",
    .usage = "FILE... [options]",
    .summary = "Imports hand-written profiles, measurements and prices into the profile store, all files or none.",
    .examples =
        "  rbprofile import resnet50.yaml prices.csv\n"
        "  rbprofile import capacity.csv.gz --name bert --set v100-9zones-2023-02 --sampled-every 195 --together 0.7\n"
        "  rbprofile import placements.csv --name bert --accelerator T4 --batch 12 --units-per-epoch 7387\n",
    .options = import_options,
    .min_args = 1,
    .max_args = -1,
    .run = run_import,
};
