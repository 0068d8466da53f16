// rbrun: carries a plan out, and looks after runs.
#include "commands/rbrun.h"

#include "base/file.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

// Secrets are in this process's environment and memory: no core file, and no file of ours for others to read.
static void keep_private(void)
{
    umask(077);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#ifdef PR_SET_DUMPABLE
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } subcommands[] = {
        {"doctor", rb_run_doctor}, {"fetch", rb_run_fetch},   {"gc", rb_run_gc},         {"list", rb_run_list},
        {"logs", rb_run_logs},     {"replay", rb_run_replay}, {"report", rb_run_report}, {"resume", rb_run_resume},
        {"status", rb_run_status}, {"stop", rb_run_stop},
    };
    rb_keep_standard_streams();
    keep_private();
    signal(SIGPIPE, SIG_IGN); // an ssh that died, a pager that was closed: an error of that write, not our end
    for (size_t i = 0; argc > 1 && i < sizeof subcommands / sizeof *subcommands; i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0)
            return subcommands[i].run(argc - 1, argv + 1);
    }
    return rb_run_main(argc, argv);
}
