// Reads /proc: what a process has started is found by its parents, as long as this process is their subreaper.
#include "providers/mock/node/process_tree.h"
#include "base/arena.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS      10
#define MAX_PID_SCAN 65536

struct process {
    pid_t pid, parent;
    bool ours;
};

static bool read_process(int proc, const char *name, struct process *out)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "%.20s/stat", name);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *after_name = strrchr(text, ')'); // the name may hold anything
    char state;
    int parent;
    if (!after_name || sscanf(after_name + 1, " %c %d", &state, &parent) != 2)
        return false;
    *out = (struct process){.pid = (pid_t)atoi(name), .parent = parent};
    return true;
}

// All processes of the host; the caller frees. Returns how many.
static int list_processes(int proc_fd, struct process **out)
{
    int n = 0;
    struct process *list = rb_xcalloc(MAX_PID_SCAN, sizeof *list);
    DIR *proc = fdopendir(openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (struct dirent *e; proc && n < MAX_PID_SCAN && (e = readdir(proc));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && read_process(proc_fd, e->d_name, &list[n]))
            n++;
    if (proc)
        closedir(proc);
    *out = list;
    return n;
}

int rb_process_tree_open(void)
{
    return open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void rb_process_tree_signal(int proc, int signal_number)
{
    struct process *list;
    int n = list_processes(proc, &list);
    bool more = true;
    while (more) { // marks children of what is marked until nothing is added
        more = false;
        for (int i = 0; i < n; i++) {
            bool ours = list[i].parent == getpid();
            for (int k = 0; k < n && !ours && !list[i].ours; k++)
                ours = list[k].ours && list[k].pid == list[i].parent;
            if (ours && !list[i].ours)
                list[i].ours = more = true;
        }
    }
    for (int i = 0; i < n; i++)
        if (list[i].ours)
            kill(list[i].pid, signal_number);
    free(list);
}

// ECHILD is the proof: a subreaper without children has no descendants either.
void rb_process_tree_end(int proc, const sigset_t *signals)
{
    for (;;) {
        rb_process_tree_signal(proc, SIGKILL);
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return;
        struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
        sigtimedwait(signals, NULL, &tick);
    }
}
