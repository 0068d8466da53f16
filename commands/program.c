#include "commands/program.h"

#include "base/file.h"
#include "base/open_files.h"
#include "base/text/closest.h"
#include "commands/version.h"

#include <string.h>
#include <unistd.h>

enum { MAX_SUBCOMMANDS = 24 };

static bool run(const struct rb_program *program, const struct rb_command *command, const struct rb_args *args,
                struct rb_err *err)
{
    bool done = false;
    const bool ok = !program->divert || program->divert(args, &done, err);
    return done || !ok ? ok : command->run(args, err);
}

static int carry_out(const struct rb_program *program, const struct rb_command *command, int argc, char **argv)
{
    struct rb_args args = {0};
    struct rb_err err = {0};
    const bool json = rb_args_ask_for_json(argc, argv);
    int code = 0;
    bool ok = rb_args_parse(&args, command, argc, argv, &err);
    args.out_code = &code;
    if (ok && args.help)
        rb_args_help(&args);
    else if (ok && !command->run)
        ok = rb_err_set(&err, RB_E_SUBCOMMAND, "expected a subcommand (see %s --help)", command->name);
    else
        ok = ok && run(program, command, &args, &err);
    const bool is_printed = program->conclude && program->conclude(ok ? NULL : &err, json);
    if (!ok && !is_printed)
        rb_err_print(&err, command->name, json);
    rb_args_finish(&args);
    return ok ? code : rb_err_exit_code(&err);
}

// "rbrun statsu", where no file has that name and a subcommand is similar. A command that does nothing by itself knows
// no other words.
static bool is_misspelt(const struct rb_command *command, const char *word, struct rb_err *err)
{
    const char *names[MAX_SUBCOMMANDS];
    int n = 0;
    for (const struct rb_subcommand *s = command->subcommands; s && s->name; s++)
        names[n++] = s->name;
    const char *closest = rb_closest(word, names, n);
    if (!command->run)
        rb_err_set(err, RB_E_SUBCOMMAND, "unknown subcommand \"%.60s\"%s%s%s (see %s --help)", word,
                   closest ? "; did you mean " : "", closest ? closest : "", closest ? "?" : "", command->name);
    else if (closest && word[0] != '-' && access(word, F_OK) != 0)
        rb_err_set(err, RB_E_SUBCOMMAND, "no subcommand and no file \"%.60s\"; did you mean %s?", word, closest);
    else
        return false;
    return true;
}

// Index of the word that may select a subcommand, argc: none. A command that does nothing by itself lets options come
// before it.
static int find_word(const struct rb_command *command, int argc, char **argv)
{
    int i = 1;
    while (!command->run && i < argc && argv[i][0] == '-')
        i += strcmp(argv[i], "--db") == 0 ? 2 : 1;
    return i < argc ? i : argc;
}

// Is the option given, as "--pool" or "--pool=FILE"?
static bool has_option(const char *name, int argc, char **argv)
{
    const size_t n = strlen(name);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], name, n) == 0 && (argv[i][n] == '\0' || argv[i][n] == '='))
            return true;
    return false;
}

static int select_command(const struct rb_program *program, const struct rb_command *command, int argc, char **argv)
{
    const int at = find_word(command, argc, argv);
    char *word = at < argc ? argv[at] : NULL;
    const struct rb_subcommand *found = word && word[0] != '-' ? rb_subcommand_find(command, word) : NULL;
    if (found) {
        memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof *argv);
        argv[1] = word;
        return select_command(program, found->command, argc - 1, argv + 1);
    }
    for (const struct rb_subcommand *s = command->subcommands; s && s->name; s++)
        if (s->name[0] == '-' && has_option(s->name, argc, argv))
            return carry_out(program, s->command, argc, argv);
    struct rb_err err = {0};
    if (!word || !is_misspelt(command, word, &err))
        return carry_out(program, command, argc, argv);
    rb_err_print(&err, command->name, rb_args_ask_for_json(argc, argv));
    return rb_err_exit_code(&err);
}

int rb_program_run(const struct rb_program *program, int argc, char **argv)
{
    const char *name = program->command->name;
    rb_keep_standard_streams();
    rb_args_help_word(argc, argv);
    if (rb_version_asked(name, argc, argv))
        return 0;
    const int refused = rb_open_files_begin(name, program->open_files);
    if (refused)
        return refused;
    if (program->prepare)
        program->prepare();
    return select_command(program, program->command, argc, argv);
}
