#include "base/text/closest.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 512 // of a folder; in a larger one we do not guess

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_names(const char *folder, char **names)
{
    DIR *dir = opendir(folder);
    int n = 0;
    if (!dir)
        return 0;
    for (struct dirent *e; n <= MAX_NAMES && (e = readdir(dir));)
        if (e->d_name[0] != '.' && n++ < MAX_NAMES && !(names[n - 1] = strdup(e->d_name)))
            n--;
    closedir(dir);
    return n;
}

bool rb_closest_file(const char *path, char *out, size_t size)
{
    char *names[MAX_NAMES + 1], folder[1024] = ".";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const int length = slash ? (int)(slash - path) + 1 : 0;
    if (length >= (int)sizeof folder)
        return false;
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", length, path);
    const int n = read_names(folder, names);
    const int kept = n < MAX_NAMES ? n : MAX_NAMES;
    qsort(names, (size_t)kept, sizeof names[0], by_name); // folders have no order, but answers should
    const char *near = n <= MAX_NAMES ? rb_closest(name, (const char *const *)names, kept) : NULL;
    const int written = near ? snprintf(out, size, "%.*s%s", length, path, near) : -1;
    for (int i = 0; i < kept; i++)
        free(names[i]);
    return written > 0 && (size_t)written < size;
}
