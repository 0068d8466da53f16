// Where control sockets lie: made for a run, gone with it, and never somebody else's.
#include "executor/transport/ssh_command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static void make_dir(const char *run_dir, char out[static RB_SSH_CONTROL_DIR_BYTES])
{
    struct rb_err err = {0};
    if (!rb_ssh_control_dir(run_dir, out, &err))
        fail_msg("%s", err.message);
}

static void bind_socket(const char *dir, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", dir, name);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_return_code(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    close(fd); // the socket file stays, and no one listens: as of a master that was killed
}

static void goes_with_what_dead_masters_left(void **state)
{
    char dir[RB_SSH_CONTROL_DIR_BYTES], other[RB_SSH_CONTROL_DIR_BYTES];
    (void)state;
    make_dir("/tmp/rb-test-ssh-command/one", dir);
    make_dir("/tmp/rb-test-ssh-command/two", other);
    bind_socket(dir, "n0");
    bind_socket(dir, "n12.aBcDeFgHiJkLmNoP"); // killed while it began
    bind_socket(other, "n0");
    rb_ssh_leave_control_dir("/tmp/rb-test-ssh-command/one");
    assert_int_equal(access(dir, F_OK), -1);
    assert_int_equal(access(other, F_OK), 0);                 // another run's
    rb_ssh_leave_control_dir("/tmp/rb-test-ssh-command/one"); // nothing is there, nothing happens
    rb_ssh_leave_control_dir("/tmp/rb-test-ssh-command/two");
    assert_int_equal(access(other, F_OK), -1);
}

static void one_that_others_see_into_is_neither_used_nor_removed(void **state)
{
    char dir[RB_SSH_CONTROL_DIR_BYTES], again[RB_SSH_CONTROL_DIR_BYTES];
    struct rb_err err = {0};
    (void)state;
    make_dir("/tmp/rb-test-ssh-command/seen", dir);
    assert_return_code(chmod(dir, 0755), 0);
    assert_false(rb_ssh_control_dir("/tmp/rb-test-ssh-command/seen", again, &err));
    assert_int_equal(rb_err_number(&err), RB_E_SSH_FILES);
    rb_ssh_leave_control_dir("/tmp/rb-test-ssh-command/seen");
    assert_return_code(rmdir(dir), 0);
}

// The login's own directory, else the run's, else /tmp: the next one where one is missing or its name is too long.
static void lies_where_cleaners_do_not_go(void **state)
{
    char base[] = "/tmp/rb-test-XXXXXX", runtime[64], run[64], deep[160], dir[RB_SSH_CONTROL_DIR_BYTES];
    (void)state;
    assert_non_null(mkdtemp(base));
    snprintf(runtime, sizeof runtime, "%s/runtime", base);
    snprintf(run, sizeof run, "%s/run", base);
    snprintf(deep, sizeof deep, "%s/%080d", run, 0);
    assert_return_code(mkdir(runtime, 0700), 0);
    assert_return_code(mkdir(run, 0700), 0);
    assert_return_code(mkdir(deep, 0700), 0);

    setenv("XDG_RUNTIME_DIR", runtime, 1);
    make_dir(run, dir);
    assert_memory_equal(dir, runtime, strlen(runtime));
    rb_ssh_leave_control_dir(run);
    assert_return_code(rmdir(runtime), 0); // the login has ended, and left nothing in it
    make_dir(run, dir);
    assert_memory_equal(dir, run, strlen(run));
    rb_ssh_leave_control_dir(run);
    assert_int_equal(access(dir, F_OK), -1);
    make_dir(deep, dir);
    assert_memory_equal(dir, "/tmp/rb-", 8);
    rb_ssh_leave_control_dir(deep);
    assert_int_equal(access(dir, F_OK), -1);

    unsetenv("XDG_RUNTIME_DIR");
    assert_return_code(rmdir(deep), 0);
    assert_return_code(rmdir(run), 0);
    assert_return_code(rmdir(base), 0);
}

int main(void)
{
    unsetenv("XDG_RUNTIME_DIR");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_with_what_dead_masters_left),
        cmocka_unit_test(lies_where_cleaners_do_not_go),
        cmocka_unit_test(one_that_others_see_into_is_neither_used_nor_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
