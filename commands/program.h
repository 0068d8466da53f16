// How each of the seven programs begins, finds the command that its command line selects, and carries it out.
#ifndef RB_COMMANDS_PROGRAM_H
#define RB_COMMANDS_PROGRAM_H

#include "base/options.h"

struct rb_program {
    const struct rb_command *command; // its name is the program's
    int open_files;                   // least number of open files, see base/open_files.h
    void (*prepare)(void);            // called before any command; NULL: nothing to prepare
    // Called before a command, whose command line has been read. *out_done: it need not be carried out here any more. NULL:
    // every command is.
    bool (*divert)(const struct rb_args *args, bool *out_done, struct rb_err *err);
    // Called after a command; err is its error, NULL where it succeeded. True: the error has been printed already.
    bool (*conclude)(struct rb_err *err, bool json);
};

// Returns the exit code. Prints the version, help or the error.
int rb_program_run(const struct rb_program *program, int argc, char **argv);

#endif
