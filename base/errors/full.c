#include "base/errors/full.h"

#include <errno.h>
#include <string.h>

static const struct {
    int why;
    const char *said; // in programs' output, as in strerror
    const char *lacks;
} kinds[] = {
    {EMFILE, "Too many open files", "this process may open no more files (ulimit -n)"},
    {ENFILE, "Too many open files in system", "this machine has no more open files (fs.file-max)"},
    {EAGAIN, "Resource temporarily unavailable",
     "this machine has no more processes for this user (ulimit -u, pids.max)"},
    {ENOMEM, "Cannot allocate memory", "this machine has no more memory"},
    {ENOBUFS, "No buffer space available", "this machine has no more buffers"},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

bool rb_is_full(int why)
{
    for (int i = 0; i < N_KINDS; i++)
        if (kinds[i].why == why)
            return true;
    return false;
}

bool rb_says_full(const char *text)
{
    for (int i = 0; i < N_KINDS; i++)
        if (strstr(text, kinds[i].said))
            return true;
    return strstr(text, "Cannot fork") != NULL; // a shell, without the reason
}

const char *rb_says_disk_fails(const char *text)
{
    static const char *const said[] = {"No space left on device", "Disk quota exceeded", "Read-only file system", "Input/output error"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strstr(text, said[i]))
            return said[i];
    return NULL;
}

bool rb_err_set_full(struct rb_err *err, int why, const char *what)
{
    const char *lacks = "this machine has no room for it";
    for (int i = 0; i < N_KINDS; i++)
        if (kinds[i].why == why)
            lacks = kinds[i].lacks;
    return rb_err_set(err, RB_E_MACHINE_FULL, "%s: %s", what, lacks);
}
