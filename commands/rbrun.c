// rbrun: carries a plan out, and looks after runs.
#include "commands/rbrun.h"
#include "commands/rbrun_pool.h"

#include "base/closest.h"
#include "base/file.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

// Secrets are in this process's environment and memory: no core file, and no file of ours for others to read.
static void keep_private(void)
{
    umask(077);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#ifdef PR_SET_DUMPABLE
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} subcommands[] = {
    {"doctor", rb_run_doctor}, {"fetch", rb_run_fetch},   {"gc", rb_run_gc},         {"list", rb_run_list},
    {"logs", rb_run_logs},     {"replay", rb_run_replay}, {"report", rb_run_report}, {"resume", rb_run_resume},
    {"status", rb_run_status}, {"stop", rb_run_stop},
};
#define N_SUBCOMMANDS ((int)(sizeof subcommands / sizeof *subcommands))

// "rbrun statsu": no file of that name, and close to a subcommand.
static const char *misspelt(const char *word)
{
    const char *names[N_SUBCOMMANDS];
    if (word[0] == '-' || access(word, F_OK) == 0)
        return NULL;
    for (int i = 0; i < N_SUBCOMMANDS; i++)
        names[i] = subcommands[i].name;
    return rb_closest(word, names, N_SUBCOMMANDS);
}

int main(int argc, char **argv)
{
    rb_keep_standard_streams();
    keep_private();
    signal(SIGPIPE, SIG_IGN); // an ssh that died, a pager that was closed: an error of that write, not our end
    signal(SIGXFSZ, SIG_IGN); // so is a file that may not grow
    for (int i = 0; argc > 1 && i < N_SUBCOMMANDS; i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0)
            return subcommands[i].run(argc - 1, argv + 1);
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--pool") == 0 || strncmp(argv[i], "--pool=", 7) == 0)
            return rb_run_pool(argc, argv);
    }
    const char *meant = argc > 1 ? misspelt(argv[1]) : NULL;
    if (meant) {
        struct rb_err err;
        rb_err_set(&err, RB_E_SUBCOMMAND, "no subcommand and no file \"%.60s\"; did you mean %s?", argv[1], meant);
        rb_err_print(&err, "rbrun", false);
        return rb_err_exit_code(&err);
    }
    return rb_run_main(argc, argv);
}
