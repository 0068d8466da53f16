#include "home.h"

#include "base/file.h"
#include "tests/base/remove_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static char directory[64];
static char path[192];

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
    snprintf(path, sizeof path, "%s/.aws/sso", directory);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/.aws/sso/cache", directory);
    mkdir(path, 0700);
    setenv("HOME", directory, 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1); // the test machine may be one of theirs
}

void home_write(const char *name, const char *text, int mode)
{
    if (!rb_write_file(home_path(name), text, strlen(text), NULL) || chmod(home_path(name), (mode_t)mode) != 0)
        abort();
}

void home_end(void)
{
    remove_tree(directory);
}

int home_set_up(void **state)
{
    (void)state;
    home_begin();
    return 0;
}

int home_set_up_with_keys(void **state)
{
    home_set_up(state);
    setenv("AWS_ACCESS_KEY_ID", "test", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    return 0;
}

int home_tear_down(void **state)
{
    (void)state;
    home_end();
    return 0;
}
