// rbprofile: imports and measures times of training and clouds, and fits models to them.
#include "base/document/doc.h"
#include "base/file.h"
#include "base/document/json.h"
#include "base/open_files.h"
#include "commands/program.h"
#include "commands/rbprofile/rbprofile_command.h"
#include "executor/transport/transport_k8s.h"
#include "views/tables/profile_table.h"

#include <stdio.h>
#include <string.h>

typedef bool fit_fn(struct rb_store *s, const char *name, struct rb_arena *arena, struct rb_fit_report *out,
                    struct rb_err *err);

static const struct rb_option read_options[] = {RB_DB_OPTION, RB_JSON_OPTION, RB_END_OPTIONS};

static bool print_fit(const struct rb_args *args, fit_fn *fit, struct rb_err *err)
{
    RB_AUTO(rb_profile_close_store) struct rb_store *store = NULL;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_fit_report report;
    struct rb_record record;
    const char *name = args->args[0];
    if (!rb_profile_open_store(args, true, &store, err) || !rb_store_record(store, name, &record, err))
        return false;
    const bool has_profile = fit(store, name, &arena, &report, err);
    if (!has_profile && (err->code != RB_ERR_NOT_FOUND || record.n_runs == 0))
        return false;
    struct rb_buf out = RB_BUF_INIT;
    if (rb_args_flag(args, "json"))
        rb_show_fit_json(name, has_profile ? &report : NULL, &record, &out);
    else
        rb_show_fit(name, has_profile ? &report : NULL, &record, &out);
    return rb_print(&out, err);
}

static bool run_show(const struct rb_args *args, struct rb_err *err)
{
    return print_fit(args, rb_store_fit, err);
}

static const struct rb_command show_command = {
    .name = "rbprofile show",
    .usage = "NAME [options]",
    .summary =
        "Shows what plans are made with: the imported profile or the fit of the measurements, how good the fit is, "
        "what it does not cover, and how predictions with it fared.",
    .examples = "  rbprofile show cifar\n  rbprofile show cifar --json\n",
    .options = read_options,
    .min_args = 1,
    .max_args = 1,
    .run = run_show,
};

static bool run_fit(const struct rb_args *args, struct rb_err *err)
{
    return print_fit(args, rb_store_fit_samples, err);
}

static const struct rb_command fit_command = {
    .name = "rbprofile fit",
    .usage = "NAME [options]",
    .summary =
        "Fits the models to the raw samples of a profile, also where an imported profile of that name hides them.",
    .examples = "  rbprofile fit cifar\n  rbprofile fit cifar --json\n",
    .options = read_options,
    .min_args = 1,
    .max_args = 1,
    .run = run_fit,
};

static bool run_list(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_profile_close_store) struct rb_store *store = NULL;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_profile_name *names;
    int n;
    if (!rb_profile_open_store(args, true, &store, err) || !rb_store_list(store, &arena, &names, &n, err))
        return false;
    struct rb_buf out = RB_BUF_INIT;
    if (rb_args_flag(args, "json"))
        rb_show_names_json(names, n, &out);
    else
        rb_show_names(names, n, &out);
    return rb_print(&out, err);
}

static const struct rb_command list_command = {
    .name = "rbprofile list",
    .usage = "[options]",
    .summary = "Lists the profiles in the store and their sources.",
    .examples = "  rbprofile list\n  rbprofile list --db team.db --json\n",
    .options = read_options,
    .run = run_list,
};

static const struct rb_option export_options[] = {
    {"output", 'o', RB_OPT_STRING, false, "FILE", "write there instead of stdout", 0, 0},
    RB_DB_OPTION,
    {"json", 0, RB_OPT_FLAG, false, NULL, "write JSON instead of YAML", 0, 0},
    RB_END_OPTIONS};

static void write_profile(const struct rb_profile *p, bool as_json, struct rb_buf *out)
{
    if (as_json) {
        struct rb_json j = {.out = out, .pretty = true};
        rb_profile_write(p, &j);
        rb_buf_putc(out, '\n');
    } else {
        rb_profile_write_yaml(p, out);
    }
}

static bool run_export(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_profile_close_store) struct rb_store *store = NULL;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_profile profile;
    const char *path = rb_args_string(args, "output", "-");
    if (!rb_profile_open_store(args, true, &store, err) ||
        !rb_store_profile(store, args->args[0], &arena, &profile, err))
        return false;
    write_profile(&profile, rb_args_flag(args, "json"), &out);
    return rb_write_file(path, rb_buf_str(&out), out.len, err);
}

static const struct rb_command export_command = {
    .name = "rbprofile export",
    .usage = "NAME [options]",
    .summary = "Writes what would be planned with as rb-profile/1, to edit, to share or to import elsewhere.",
    .examples = "  rbprofile export cifar -o cifar.yaml\n  rbprofile export cifar --json\n",
    .options = export_options,
    .min_args = 1,
    .max_args = 1,
    .run = run_export,
};

static const struct rb_subcommand subcommands[] = {
    {"export", "write a profile as rb-profile/1", &export_command},
    {"fit", "fit the raw samples of a profile", &fit_command},
    {"import", "bring in profiles, measurements and prices", &rb_profile_import},
    {"list", "name the profiles", &list_command},
    {"prices", "show or update prices", &rb_profile_prices},
    {"provision", "measure how long nodes take to arrive", &rb_profile_provision},
    {"reservations", "list what is reserved, as lines of a job", &rb_profile_reservations},
    {"show", "show a profile and how good its fit is", &show_command},
    {"train", "measure the training command at several sizes", &rb_profile_train},
    {0},
};

static const struct rb_command rbprofile_command = {
    .name = "rbprofile",
    .usage = "SUBCOMMAND [options]",
    .summary =
        "Measures training and clouds, keeps the samples in one file, and fits the models that plans are made with.",
    .examples = "  rbprofile train job.yaml --gpus 1,2,4\n"
                "  rbprofile import resnet50.yaml prices.csv\n"
                "  rbprofile show resnet50\n",
    .options = read_options,
    .subcommands = subcommands};

int main(int argc, char **argv)
{
    int code;
    if (rb_transport_k8s_helps(argc, argv, &code))
        return code;
    static const struct rb_program program = {.command = &rbprofile_command, .open_files = RB_OPEN_FILES_TO_TALK};
    return rb_program_run(&program, argc, argv);
}
