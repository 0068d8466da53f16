// Certificates are always checked: against `openssl s_server` with a certificate of its own. Skipped without openssl.
#include "base/arena.h"
#include "providers/wire/http.h"
#include "test_loop.h"
#include "tests/base/check.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char directory[] = "/tmp/rb-tls-XXXXXX", certificate[64], key[64];

struct server {
    pid_t pid;
    FILE *out;
    int port;
};

struct answer {
    bool done, sent;
    long status;
    char reason[256];
};

// A certificate for the address 127.0.0.1 and for no name.
static int make_certificate(void **state)
{
    (void)state;
    char command[512];
    if (!mkdtemp(directory))
        return 1;
    snprintf(certificate, sizeof certificate, "%s/cert.pem", directory);
    snprintf(key, sizeof key, "%s/key.pem", directory);
    snprintf(command, sizeof command,
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test "
             "-addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s 2>/dev/null",
             key, certificate);
    return system(command) == 0 ? 0 : 1;
}

static int remove_certificate(void **state)
{
    (void)state;
    unlink(certificate);
    unlink(key);
    return rmdir(directory);
}

static void start(struct server *s, char *option)
{
    char *argv[] = {"openssl", "s_server", "-accept", "127.0.0.1:0",     "-www", "-cert", certificate,
                    "-key",    key,        "-cipher", "ALL:@SECLEVEL=0", option, NULL};
    char line[256];
    int ends[2];
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    assert_int_equal(posix_spawnp(&s->pid, "openssl", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    s->out = fdopen(ends[0], "r");
    do {
        if (!fgets(line, sizeof line, s->out))
            fail_msg("openssl s_server did not start");
    } while (sscanf(line, "ACCEPT 127.0.0.1:%d", &s->port) != 1);
}

static void stop(struct server *s)
{
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    fclose(s->out);
}

static void on_response(void *arg, const struct rb_http_response *r)
{
    struct answer *a = arg;
    *a = (struct answer){.done = true, .sent = r->sent, .status = r->status};
    snprintf(a->reason, sizeof a->reason, "%s", r->transport_error ? r->transport_error : "");
}

static struct answer get(const char *host, int port)
{
    struct test_loop loop;
    struct rb_http *http;
    struct answer a = {0};
    char url[64];
    test_loop_init(&loop);
    assert_true(rb_http_create(&loop.loop, &http, NULL));
    snprintf(url, sizeof url, "https://%s:%d/", host, port);
    const struct rb_http_request request = {.method = "GET", .url = url};
    assert_true(rb_http_send(http, &request, on_response, &a, NULL));
    assert_true(test_loop_run(&loop, &a.done));
    rb_http_destroy(http);
    return a;
}

static void expect_refused(struct answer a, const char *reason)
{
    assert_int_equal(a.status, 0);
    assert_false(a.sent);
    if (!strcasestr(a.reason, reason))
        fail_msg("expected \"%s\" in \"%s\"", reason, a.reason);
}

static void strangers_are_refused(void **state)
{
    (void)state;
    struct server s;
    start(&s, NULL);
    unsetenv("AWS_CA_BUNDLE");
    unsetenv("SSL_CERT_FILE");
    expect_refused(get("127.0.0.1", s.port), "certificate");
    setenv("SSL_CERT_FILE", certificate, 1);
    assert_int_equal(get("127.0.0.1", s.port).status, 200);
    setenv("AWS_CA_BUNDLE", certificate, 1);
    setenv("SSL_CERT_FILE", "/nonexistent", 1);
    assert_int_equal(get("127.0.0.1", s.port).status, 200);
    expect_refused(get("localhost", s.port), "localhost"); // trusted, but for another name
    stop(&s);
}

static void old_protocols_are_refused(void **state)
{
    (void)state;
    struct server s;
    setenv("AWS_CA_BUNDLE", certificate, 1);
    start(&s, "-tls1_2");
    assert_int_equal(get("127.0.0.1", s.port).status, 200);
    stop(&s);
    start(&s, "-tls1_1");
    expect_refused(get("127.0.0.1", s.port), "SSL");
    stop(&s);
}

int main(void)
{
    if (system("openssl version >/dev/null 2>&1") != 0) {
        puts("skipped: no openssl (Debian package openssl)");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(old_protocols_are_refused),
    };
    return cmocka_run_group_tests(tests, make_certificate, remove_certificate);
}
