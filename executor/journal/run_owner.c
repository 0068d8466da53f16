// The name under which this user's instances are tagged, and to which an approval is given.
#include "executor/journal/run_files.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

void rb_run_owner(char *out, size_t size)
{
    const struct passwd *user = getpwuid(geteuid());
    char host[65] = "unknown";
    gethostname(host, sizeof host - 1);
    snprintf(out, size, "%s@%s", user ? user->pw_name : "unknown", host);
}
