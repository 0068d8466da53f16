#include "temp_dir.h"

#include "require.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

static char dir[64];

static void remove_dir(void)
{
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d));)
        unlinkat(dirfd(d), entry->d_name, 0);
    if (d)
        closedir(d);
    rmdir(dir);
}

const char *temp_dir(void)
{
    if (!dir[0]) {
        const bool in_memory = access("/dev/shm", W_OK) == 0; // no disk to wait for
        snprintf(dir, sizeof dir, "%s/rb-fuzz-XXXXXX", in_memory ? "/dev/shm" : "/tmp");
        require(mkdtemp(dir) != NULL && atexit(remove_dir) == 0);
    }
    return dir;
}

const char *temp_path(const char *name)
{
    static char paths[4][160];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", temp_dir(), name);
    return path;
}

void temp_write(const char *name, const void *bytes, size_t n)
{
    const int fd = open(temp_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
}

void temp_remove(const char *name)
{
    unlink(temp_path(name));
}
