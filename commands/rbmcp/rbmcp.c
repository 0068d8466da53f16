// rbmcp: our programs as tools of the Model Context Protocol, on stdin and stdout.
#include "base/file.h"
#include "base/errors/log.h"
#include "base/open_files.h"
#include "base/options.h"
#include "commands/rbmcp/server.h"
#include "commands/program.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct rb_option options[] = {
    {"root", 0, RB_OPT_STRING, false, "DIR", "the folder whose files tools may be given (default: the current one)", 0,
     0},
    {"state-dir", 0, RB_OPT_STRING, false, "DIR", "where runs live (default: the user's state directory)", 0, 0},
    {"db", 0, RB_OPT_STRING, false, "FILE", "profile store (default: RB_DB, else the user's own)", 0, 0},
    {0},
};

static volatile int stop_asked;

static void ask_to_stop(int number)
{
    (void)number;
    stop_asked = 1;
}

static void handle_signals(void)
{
    const struct sigaction end = {.sa_handler = ask_to_stop};
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGHUP, &end, NULL);
    signal(SIGPIPE, SIG_IGN);
}

// Credentials are in this process's environment: no core file, and no file of ours for others to read.
static void keep_private(void)
{
    umask(077);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// Our programs are beside this one.
static bool find_programs(char out[static PATH_MAX], struct rb_err *err)
{
    const ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0)
        return rb_err_set(err, RB_E_PROGRAM, "/proc/self/exe: %s", strerror(errno));
    out[n] = '\0';
    *strrchr(out, '/') = '\0';
    return true;
}

static void remove_scratch(const struct rb_mcp_setting *s)
{
    char path[128];
    if (!s->scratch[0])
        return;
    snprintf(path, sizeof path, "%s/pareto.json", s->scratch);
    unlink(path);
    rmdir(s->scratch);
}

static bool serve(const struct rb_args *args, struct rb_err *err)
{
    struct rb_mcp_setting setting = {.state_dir = rb_args_string(args, "state-dir", NULL)};
    const char *db = rb_args_string(args, "db", NULL);
    if (!find_programs(setting.bin, err) ||
        !rb_mcp_sandbox_open(&setting.sandbox, rb_args_string(args, "root", "."), err))
        return false;
    if (db)
        setenv("RB_DB", db, 1); // as rbplan --db
    if (chdir(setting.sandbox.root) != 0)
        return rb_err_set(err, RB_E_DIRECTORY, "--root %s: %s", setting.sandbox.root, strerror(errno));
    handle_signals();
    rb_info("rbmcp serves %s", setting.sandbox.root);
    const bool ok = rb_mcp_serve(&setting, STDIN_FILENO, STDOUT_FILENO, &stop_asked);
    remove_scratch(&setting);
    return ok || rb_err_set(err, RB_E_STDOUT, "the client does not read any more");
}

static const struct rb_command command = {
    .name = "rbmcp",
    .usage = "[options]",
    .summary =
        "Lets an agent plan tuning jobs and carry approved plans out: a server of the Model Context Protocol on\n"
        "stdin and stdout. It begins no run that no person has approved with `rbplan approve`.",
    .examples = "  rbmcp --root ~/jobs\n",
    .options = options,
    .run = serve,
};

int main(int argc, char **argv)
{
    static const struct rb_program program = {
        .command = &command,
        .open_files = RB_OPEN_FILES_TO_TALK,
        .prepare = keep_private,
    };
    return rb_program_run(&program, argc, argv);
}
