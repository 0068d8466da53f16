// Who may speak to a mock cloud: by their headers, and by how long they take.
#include "base/arena.h"
#include "base/clock.h"
#include "base/text/units.h"
#include "providers/mock/node/passport.h"
#include "providers/mock/server/connections.h"
#include "providers/mock/server/gate.h"
#include "providers/mock/server/mock_keys.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static void hosts_and_origins(void **state)
{
    (void)state;
    static const struct {
        struct rb_sigv4_header headers[3];
        int status; // 0: passes
    } cases[] = {
        {{{"Host", "127.0.0.1:8900"}}, 0},
        {{{"host", "127.0.0.1"}}, 0},
        {{{"Host", "LocalHost:1"}}, 0},
        {{{"Host", "[::1]:65535"}}, 0},
        {{{"Host", "localhost"}, {"Origin", "http://localhost"}}, 0},
        {{{"Host", "127.0.0.1:8900"}, {"Sec-Fetch-Site", "none"}}, 0},
        {{{"Host", "127.0.0.1:8900"}, {"Sec-Fetch-Site", "same-origin"}}, 0},
        {{{"User-Agent", "x"}}, 421}, // none
        {{{"Host", ""}}, 421},
        {{{"Host", "evil.example:8900"}}, 421}, // its name was rebound to 127.0.0.1
        {{{"Host", "127.0.0.1.evil.example"}}, 421},
        {{{"Host", "localhost.evil.example:8900"}}, 421},
        {{{"Host", "127.0.0.1:8900@evil.example"}}, 421},
        {{{"Host", "127.0.0.1:"}}, 421},
        {{{"Host", "127.0.0.1:123456"}}, 421},
        {{{"Host", "169.254.169.254"}}, 421},
        {{{"Host", "[::2]"}}, 421},
        {{{"Host", "127.0.0.1"}, {"Host", "127.0.0.1"}}, 421},
        {{{"Host", "127.0.0.1:8900"}, {"Origin", "https://evil.example"}}, 403},
        {{{"Host", "127.0.0.1:8900"}, {"Origin", "null"}}, 403},
        {{{"Host", "127.0.0.1:8900"}, {"Origin", "http://127.0.0.1:9000"}}, 403}, // another program's page
        {{{"Host", "127.0.0.1:8900"}, {"Origin", "https://127.0.0.1:8900"}}, 403},
        {{{"Host", "127.0.0.1:8900"}, {"Sec-Fetch-Site", "cross-site"}}, 403},
        {{{"Host", "127.0.0.1:8900"}, {"Sec-Fetch-Site", "same-site"}}, 403},
    };
    for (size_t c = 0; c < N_OF(cases); c++) {
        int n = 0;
        while (n < 3 && cases[c].headers[n].name)
            n++;
        const struct rb_exchange_request r = {.method = "POST", .headers = cases[c].headers, .n_headers = n};
        struct rb_exchange_answer answer = {0};
        const bool passes = rb_mock_gate_passes(&r, &answer);
        if (passes != (cases[c].status == 0) || answer.status != cases[c].status)
            fail_msg("case %zu: expected %d, got %d", c, cases[c].status, answer.status);
        rb_buf_finish(&answer.body);
    }
}

// --- slow ones, on a daemon of the test's own ---

struct wire {
    struct rb_mock_connections all;
    struct MHD_Daemon *http;
    int fd;
};

static void begin_answer(void *arg, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode how)
{
    (void)arg, (void)state, (void)how;
    rb_mock_connection_is(connection, RB_MOCK_IDLE);
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state)
{
    (void)arg, (void)url, (void)method, (void)version, (void)upload;
    if (!*state || *upload_size > 0) {
        *state = (void *)(uintptr_t)1;
        *upload_size = 0;
        return MHD_YES;
    }
    rb_mock_connection_is(connection, RB_MOCK_ANSWERED);
    struct MHD_Response *r = MHD_create_response_from_buffer(2, "ok", MHD_RESPMEM_PERSISTENT);
    const enum MHD_Result done = MHD_queue_response(connection, 200, r);
    MHD_destroy_response(r);
    return done;
}

static void turn(struct wire *w)
{
    for (int k = 0; k < 20; k++) {
        MHD_run(w->http);
        usleep(2000);
    }
}

static void wire_open(struct wire *w)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *w = (struct wire){0};
    w->http = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, NULL, MHD_OPTION_SOCK_ADDR, &at,
                               MHD_OPTION_NOTIFY_CONNECTION, rb_mock_connections_notify, &w->all,
                               MHD_OPTION_NOTIFY_COMPLETED, begin_answer, NULL, MHD_OPTION_END);
    assert_non_null(w->http);
    at.sin_port = htons(MHD_get_daemon_info(w->http, MHD_DAEMON_INFO_BIND_PORT)->port);
    w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(w->fd, (struct sockaddr *)&at, sizeof at), 0);
    turn(w);
}

static void wire_close(struct wire *w)
{
    close(w->fd);
    MHD_stop_daemon(w->http);
    assert_null(w->all.first);
}

static void say(struct wire *w, const char *text)
{
    assert_int_equal(send(w->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    turn(w);
}

// After so long. What was answered is read first.
static bool is_cut_after(struct wire *w, int64_t seconds)
{
    char bytes[512];
    rb_mock_connections_cut(&w->all, rb_clock_monotonic_us() + seconds * RB_US_PER_S);
    turn(w);
    ssize_t n;
    while ((n = recv(w->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        ;
    return n == 0;
}

static void half_open_connections_end(void **state)
{
    (void)state;
    static const char *const beginnings[] = {"", "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Dri",
                                             "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\ndrip"};
    for (size_t k = 0; k < N_OF(beginnings); k++) {
        struct wire w;
        wire_open(&w);
        say(&w, beginnings[k]);
        assert_false(is_cut_after(&w, RB_MOCK_REQUEST_S - 5));
        assert_true(rb_mock_connections_next_us(&w.all) < rb_clock_monotonic_us() + RB_MOCK_REQUEST_S * RB_US_PER_S);
        assert_true(is_cut_after(&w, RB_MOCK_REQUEST_S + 1));
        wire_close(&w);
    }
}

static void idle_connections_stay_longer(void **state)
{
    (void)state;
    struct wire w;
    wire_open(&w);
    say(&w, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert_false(is_cut_after(&w, RB_MOCK_IDLE_S - 5));
    assert_true(is_cut_after(&w, RB_MOCK_IDLE_S + 1));
    wire_close(&w);
}

// --- keys ---

static void keys_are_new_and_parsed(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    static const char *const bad[] = {"test", "test:", ":test", "te st:x", "t'est:x", "te/st:x", ""};
    struct rb_mock_keys one, two;
    rb_mock_keys_make(&arena, &one);
    rb_mock_keys_make(&arena, &two);
    assert_string_not_equal(one.keys[0].access_key, two.keys[0].access_key);
    assert_string_not_equal(one.keys[0].secret_key, two.keys[0].secret_key);
    assert_int_equal(strlen(one.keys[0].secret_key), 40);
    assert_true(rb_mock_keys_parse("a:b:c", &arena, &one));
    assert_string_equal(one.keys[0].access_key, "a");
    assert_string_equal(one.keys[0].secret_key, "b:c");
    for (size_t k = 0; k < N_OF(bad); k++)
        assert_false(rb_mock_keys_parse(bad[k], &arena, &one));
}

static void run_in_shell(const char *dir, const char *tail)
{
    char command[512];
    assert_int_equal(chdir(dir), 0);
    snprintf(command, sizeof command, "AWS_PROFILE=x; . ./env; %s", tail);
    if (system(command) != 0)
        fail_msg("%s", command);
    assert_int_equal(chdir("/"), 0);
}

// Lines that a shell takes over, with a directory whose name is made to break them.
static void a_shell_takes_the_lines(void **state)
{
    (void)state;
    char parent[] = "/tmp/rbmock-gate-XXXXXX", dir[128];
    const struct rb_mock_key key = {"id", "secret"};
    RB_AUTO(rb_buf_finish) struct rb_buf lines = RB_BUF_INIT;
    struct rb_err err;
    struct stat st;
    assert_non_null(mkdtemp(parent));
    snprintf(dir, sizeof dir, "%s/it's $(false) a dir", parent);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_true(rb_mock_passport_write(&(struct rb_mock_passport){.dir = dir,
                                                                  .key = &key,
                                                                  .ec2_url = "http://127.0.0.1:1",
                                                                  .gcp_url = "http://127.0.0.1:2",
                                                                  .region = "us-east-1",
                                                                  .user = "me"},
                                       &lines, &err));
    assert_null(strstr(rb_buf_str(&lines), "secret")); // what is printed ends up in logs
    assert_non_null(strstr(rb_buf_str(&lines), "\n# "));
    run_in_shell(dir, "[ \"$AWS_ENDPOINT_URL$RB_SSH_USER$AWS_DEFAULT_REGION${AWS_PROFILE-}\" = "
                      "http://127.0.0.1:1meus-east-1 ]");
    run_in_shell(dir, "grep -q '^aws_secret_access_key = secret$' \"$AWS_SHARED_CREDENTIALS_FILE\"");
    strcat(dir, "/credentials");
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    *strrchr(dir, '/') = '\0';
    rb_mock_passport_remove(dir);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(rmdir(parent), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_and_origins),
        cmocka_unit_test(half_open_connections_end),
        cmocka_unit_test(idle_connections_stay_longer),
        cmocka_unit_test(keys_are_new_and_parsed),
        cmocka_unit_test(a_shell_takes_the_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
