// What rbrun's subcommands share: command lines and questions.
#include "commands/rbrun/rbrun.h"

#include "base/limits.h"
#include "base/text/number.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *rb_run_state_dir(const struct rb_args *args)
{
    return rb_args_string(args, "state-dir", NULL);
}

bool rb_run_parse_trial(const char *text, int *out, struct rb_err *err)
{
    int64_t trial;
    if (!rb_parse_int(text, &trial) || trial < 0 || trial >= RB_LIMIT_TRIALS)
        return rb_err_set(err, RB_E_OPERANDS, "expected the number of a trial, got \"%.60s\"", text);
    *out = (int)trial;
    return true;
}

bool rb_run_confirm(bool yes, const char *what, struct rb_err *err)
{
    char answer[16] = "";
    if (yes)
        return true;
    if (!isatty(STDIN_FILENO))
        return rb_err_set(err, RB_E_NOT_CONFIRMED, "this %s, and stdin is not a terminal: pass --yes to confirm", what);
    fprintf(stderr, "This %s. Go on? [y/N] ", what);
    if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return true;
    return rb_err_set(err, RB_E_NOT_CONFIRMED, "not confirmed: nothing was done");
}
