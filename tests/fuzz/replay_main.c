// Replays files through a fuzz target: every argument is a file or a directory of files. Each is handed over in a
// block of exactly its size, so that a sanitizer sees the first byte read too far.
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void die(const char *path, const char *what)
{
    fprintf(stderr, "replay: %s: %s\n", path, what);
    exit(1);
}

static void replay_file(const char *path)
{
    struct stat st;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &st) != 0)
        die(path, "cannot read");
    const size_t n = (size_t)st.st_size;
    uint8_t *bytes = malloc(n ? n : 1);
    if (!bytes || fread(bytes, 1, n, file) != n)
        die(path, "cannot read");
    fclose(file);
    fprintf(stderr, "%s\n", path); // the last line names the culprit of a crash
    LLVMFuzzerTestOneInput(bytes, n);
    free(bytes);
}

static int replay_directory(const char *path, DIR *dir)
{
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char file[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        replay_file(file);
        n++;
    }
    return n;
}

int main(int argc, char **argv)
{
    int n = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (dir) {
            n += replay_directory(argv[i], dir);
            closedir(dir);
        } else {
            replay_file(argv[i]);
            n++;
        }
    }
    printf("replayed %d files\n", n);
    if (n == 0) {
        fprintf(stderr, "replay: no files given: nothing was tested\n");
        return 1;
    }
    return 0;
}
