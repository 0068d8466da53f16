#include "mock_process.h"

#include "tests/base/check.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_ARGS = 14 };

pid_t mock_process_start(const char *const *args, char *out_ready)
{
    char *argv[MAX_ARGS + 2] = {getenv("RBMOCK")};
    int ends[2], n = 1;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (!argv[0])
        fail_msg("RBMOCK must name the executable; run this through `meson test`");
    while (args[n - 1] && n <= MAX_ARGS) {
        argv[n] = (char *)args[n - 1];
        n++;
    }
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    assert_int_equal(posix_spawn(&pid, argv[0], &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    assert_non_null(fgets(out_ready, 256, out));
    fclose(out);
    return pid;
}

bool mock_process_stop(pid_t pid)
{
    int status;
    kill(pid, SIGTERM);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
