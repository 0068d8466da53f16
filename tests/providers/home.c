#include "home.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static char directory[64];
static char path[128];

// From the start again after each, as unsetenv moves the rest.
static void unset_aws_variables(void)
{
    for (char **e = environ; *e;) {
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*e, "="), *e);
        if (strncmp(name, "AWS_", 4) == 0) {
            unsetenv(name);
            e = environ;
        } else {
            e++;
        }
    }
}

const char *home_path(const char *name)
{
    snprintf(path, sizeof path, "%s/.aws/%s", directory, name);
    return path;
}

void home_begin(void)
{
    unset_aws_variables();
    strcpy(directory, "/tmp/rb-home-XXXXXX");
    if (!mkdtemp(directory))
        abort();
    snprintf(path, sizeof path, "%s/.aws", directory);
    mkdir(path, 0700);
    setenv("HOME", directory, 1);
}

void home_write(const char *name, const char *text, int mode)
{
    if (!rb_write_file(home_path(name), text, strlen(text), NULL) || chmod(home_path(name), (mode_t)mode) != 0)
        abort();
}

void home_end(void)
{
    static const char *const names[] = {"credentials", "config", "tool", "witness"};
    for (int i = 0; i < 4; i++)
        unlink(home_path(names[i]));
    snprintf(path, sizeof path, "%s/.aws", directory);
    rmdir(path);
    rmdir(directory);
}
