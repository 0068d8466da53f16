// What a whole process costs, from start to exit: runs a command with its output thrown away and prints CPU seconds, wall
// seconds and peak resident memory. A small parent of its own: a child's peak counts what its parent had at the fork.
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static void become(char **command)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 && dup2(nowhere, STDERR_FILENO) >= 0)
        execvp(command[0], command);
    _exit(127);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: process_cost COMMAND [ARGUMENT]...\n");
        return 2;
    }
    const double start_s = wall_s();
    struct rusage cost;
    int status;
    const pid_t child = fork();
    if (child == 0)
        become(argv + 1);
    if (child < 0 || wait4(child, &status, 0, &cost) != child) {
        perror("process_cost");
        return 1;
    }
    printf("cpu_s %.6f wall_s %.6f rss_kb %ld status %d\n", seconds(cost.ru_utime) + seconds(cost.ru_stime),
           wall_s() - start_s, cost.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
