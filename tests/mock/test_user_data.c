// User data: what is understood, what is refused, and above all that no text reaches the host's own tools.
#include "providers/mock/node/user_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void paths_to_the_hosts_tools_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "/sbin/shutdown -h +5",
        "exec /usr/sbin/poweroff",
        "/bin/systemctl poweroff",
        "x=/usr/bin/apt-get; $x",
        "\"/usr/sbin/reboot\"",
        "/usr/bin/../sbin/halt",
        "/usr/sbin//shutdown now",
        "/usr/sbin/./shutdown now",
        "true;/sbin/init 0",
        "$ROOT/sbin/telinit 0",
        "sh -c '/usr/bin/systemd-run true'",
        "ls && /usr/bin/sudo poweroff.",
        "PATH=/usr/sbin:/sbin shutdown",
        "export PATH=/sbin:$PATH",
        "command -p shutdown now",
        "env -i shutdown now",
        "env - shutdown now",
        "run /sbin/shutdown.",
    };
    static const char *const good[] = {
        "shutdown -h +60",
        "apt-get install -y python3",
        "cat /etc/apt/sources.list.d/x.list",
        "ls /usr/share/doc/apt",
        "cat /var/lib/dpkg/status",
        "export PATH=$PATH:/opt/tool/bin",
        "PATH=\"$PATH:/x\"",
        "export LD_LIBRARY_PATH=/usr/lib",
        "env -u HOME ls",
        "echo reboots happen; /usr/bin/python3 -c 1",
        "command -v shutdown",
        "/sbin/shutdowns",
        "/usr/sbin/initrd",
    };
    struct rb_err err;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        if (rb_user_data_is_harmless(bad[k], strlen(bad[k]), &err))
            fail_msg("let through: %s", bad[k]);
    for (size_t k = 0; k < sizeof good / sizeof *good; k++)
        if (!rb_user_data_is_harmless(good[k], strlen(good[k]), &err))
            fail_msg("refused: %s: %s", good[k], err.message);
}

static void every_prefix_is_searched_without_reading_past_it(void **state)
{
    (void)state;
    const char *text = "a=PATH=$PATH env -i command -p /usr/sbin/../sbin/shutdown.\n\"${PATH";
    for (size_t n = 0; n <= strlen(text); n++) { // the sanitisers watch
        RB_AUTO(rb_auto_free) char *copy = rb_xcalloc(n + 1, 1);
        memcpy(copy, text, n);
        rb_user_data_is_harmless(copy, n, NULL);
    }
}

struct reading {
    struct rb_arena arena;
    struct rb_user_data data;
    struct rb_err err;
    bool ok;
};

static struct reading *read_text(const char *text)
{
    static struct reading r;
    rb_arena_init(&r.arena);
    r.ok = rb_user_data_read(text, strlen(text), &r.arena, &r.data, &r.err);
    return &r;
}

static void a_script_is_taken_as_it_is(void **state)
{
    (void)state;
    struct reading *r = read_text("#!/bin/bash\necho hi\n");
    assert_true(r->ok);
    assert_string_equal(r->data.run_script, "#!/bin/bash\necho hi\n");
    assert_string_equal(r->data.boot_script, "");
    assert_null(r->data.host_private);
    rb_arena_finish(&r->arena);
}

static void cloud_config_is_understood(void **state)
{
    (void)state;
    struct reading *r = read_text("#cloud-config\n"
                                  "ssh_authorized_keys:\n  - ssh-ed25519 AAAA one\n  - ssh-ed25519 BBBB two\n"
                                  "ssh_deletekeys: true\n"
                                  "ssh_keys:\n  ed25519_private: |\n    -----BEGIN\n    x\n    -----END\n"
                                  "  ed25519_public: ssh-ed25519 CCCC\n"
                                  "users: [default]\ndisable_root: false\n"
                                  "bootcmd:\n  - shutdown -h +60\n"
                                  "runcmd:\n  - [touch, \"it's here\", 7]\n  - echo $HOME | cat\n");
    if (!r->ok)
        fail_msg("%s", r->err.message);
    assert_string_equal(r->data.authorized_keys, "ssh-ed25519 AAAA one\nssh-ed25519 BBBB two\n");
    assert_string_equal(r->data.host_private, "-----BEGIN\nx\n-----END\n");
    assert_string_equal(r->data.host_public, "ssh-ed25519 CCCC");
    assert_string_equal(r->data.boot_script, "shutdown -h +60\n");
    assert_non_null(strstr(r->data.run_script, "'it'\\''s here'"));
    assert_non_null(strstr(r->data.run_script, "echo $HOME | cat\n"));
    rb_arena_finish(&r->arena);
}

static void what_is_not_understood_is_an_error(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "hello",
        "#cloud-configuration\n",
        "#cloud-config\npackages: [curl]\n",
        "#cloud-config\nruncmd: true\n",
        "#cloud-config\nruncmd: [{a: 1}]\n",
        "#cloud-config\nruncmd: [[a, [b]]]\n",
        "#cloud-config\nssh_authorized_keys: [[a]]\n",
        "#cloud-config\nssh_keys: {ed25519_private: x}\n",
        "#cloud-config\nssh_keys: {ed25519_private: x, ed25519_public: y, rsa_private: z}\n",
        "#cloud-config\nssh_deletekeys: maybe\n",
        "#cloud-config\nruncmd: [a]\nruncmd: [b]\n",
        "#cloud-config\n- a\n",
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct reading *r = read_text(bad[k]);
        if (r->ok)
            fail_msg("understood: %s", bad[k]);
        assert_true(r->err.message[0] != '\0');
        rb_arena_finish(&r->arena);
    }
}

static void nothing_at_all_is_fine(void **state)
{
    (void)state;
    struct reading *r = read_text("");
    assert_true(r->ok);
    assert_string_equal(r->data.authorized_keys, "");
    rb_arena_finish(&r->arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_to_the_hosts_tools_are_refused),
        cmocka_unit_test(every_prefix_is_searched_without_reading_past_it),
        cmocka_unit_test(a_script_is_taken_as_it_is),
        cmocka_unit_test(cloud_config_is_understood),
        cmocka_unit_test(what_is_not_understood_is_an_error),
        cmocka_unit_test(nothing_at_all_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
