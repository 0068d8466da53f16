#include "commands/rbprofile/rbprofile_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int rb_profile_carry_out(const struct rb_command *command, rb_profile_run_fn *run, int argc, char **argv)
{
    struct rb_args args = {0};
    struct rb_err err = {0};
    bool ok = rb_args_parse(&args, command, argc, argv, &err);
    if (ok && args.help)
        rb_args_help(&args);
    else
        ok = ok && run(&args, &err);
    if (!ok)
        rb_err_print(&err, command->name, rb_args_ask_for_json(argc, argv));
    rb_args_finish(&args);
    return ok ? 0 : rb_err_exit_code(&err);
}

bool rb_profile_open_store(const struct rb_args *args, bool read_only, struct rb_store **out, struct rb_err *err)
{
    return rb_store_open(rb_args_string(args, "db", NULL), read_only, out, err);
}

void rb_profile_close_store(struct rb_store **s)
{
    rb_store_close(*s);
}

// Index of the subcommand's name: the first argument that is neither an option nor the value of --db; argc if none.
static int find_name(int argc, char **argv)
{
    int i = 1;
    while (i < argc && argv[i][0] == '-')
        i += strcmp(argv[i], "--db") == 0 ? 2 : 1;
    return i < argc ? i : argc;
}

// No subcommand: the user wants help, or an option is wrong.
static int without_name(const struct rb_command *command, int argc, char **argv)
{
    struct rb_args args = {0};
    struct rb_err err = {0};
    const bool parsed = rb_args_parse(&args, command, argc, argv, &err), help = parsed && args.help;
    if (help)
        rb_args_help(&args);
    rb_args_finish(&args);
    if (help)
        return 0;
    if (parsed)
        rb_err_set(&err, RB_E_SUBCOMMAND, "expected a subcommand (see %s --help)", command->name);
    rb_err_print(&err, command->name, rb_args_ask_for_json(argc, argv));
    return rb_err_exit_code(&err);
}

static int unknown_name(const struct rb_command *command, const char *name, bool json)
{
    const char *names[16];
    struct rb_err err = {0};
    int n = 0;
    for (; command->subcommands[n].name; n++)
        names[n] = command->subcommands[n].name;
    const char *closest = rb_closest(name, names, n);
    rb_err_set(&err, RB_E_SUBCOMMAND, "unknown subcommand \"%.60s\"%s%s%s (see %s --help)", name,
               closest ? "; did you mean " : "", closest ? closest : "", closest ? "?" : "", command->name);
    rb_err_print(&err, command->name, json);
    return rb_err_exit_code(&err);
}

int rb_profile_dispatch(const struct rb_command *command, int argc, char **argv)
{
    const int at = find_name(argc, argv);
    if (at == argc)
        return without_name(command, argc, argv);
    char *name = argv[at];
    memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(*argv));
    argv[1] = name;
    const struct rb_subcommand *found = rb_subcommand_find(command, name);
    return found ? found->run(argc - 1, argv + 1) : unknown_name(command, name, rb_args_ask_for_json(argc, argv));
}
