#include "base/open_files.h"

#include "base/errors/err.h"

#include <pthread.h>
#include <sys/resource.h>

static struct rlimit given; // the limits this process was started with

// In the child, between fork and exec. From there on no file is opened before unneeded ones are closed.
static void give_back(void)
{
    setrlimit(RLIMIT_NOFILE, &given);
}

static int refuse(const char *program, int least)
{
    struct rb_err err = {0};
    rb_err_set(&err, RB_E_OPEN_FILES,
               "%d open files are needed at least, and %llu are allowed: raise the limit with `ulimit -n 1024`, or "
               "LimitNOFILE= of the service that starts it",
               least, (unsigned long long)given.rlim_max);
    rb_err_print(&err, program, false);
    return rb_err_exit_code(&err);
}

int rb_open_files_begin(const char *program, int least)
{
    if (getrlimit(RLIMIT_NOFILE, &given) != 0)
        return 0;
    if (given.rlim_max < (rlim_t)least)
        return refuse(program, least);
    const struct rlimit all = {.rlim_cur = given.rlim_max, .rlim_max = given.rlim_max};
    if (given.rlim_cur < given.rlim_max && setrlimit(RLIMIT_NOFILE, &all) == 0)
        pthread_atfork(NULL, NULL, give_back);
    return 0;
}
