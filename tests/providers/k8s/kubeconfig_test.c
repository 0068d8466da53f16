// Which cluster, and who we are there: the kubeconfig, a plugin, a pod's service account; and what is refused.
#include "base/file.h"
#include "base/text/units.h"
#include "providers/k8s/k8s_door.h"
#include "providers/k8s/kube_login.h"
#include "providers/wire/expiry.h"
#include "tests/base/check.h"
#include "tests/base/remove_tree.h"
#include "tests/providers/test_loop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[32];
static char buffer[200];

static const char *in_dir(const char *name)
{
    snprintf(buffer, sizeof buffer, "%s/%s", dir, name);
    return buffer;
}

static void write_file(const char *name, const char *text, int mode)
{
    assert_true(rb_write_file(in_dir(name), text, strlen(text), NULL));
    assert_int_equal(chmod(in_dir(name), (mode_t)mode), 0);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/rb-kube-XXXXXX");
    assert_non_null(mkdtemp(dir));
    setenv("HOME", dir, 1);
    setenv("KUBECONFIG", in_dir("config"), 1);
    unsetenv("KUBERNETES_SERVICE_HOST");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(dir);
    return 0;
}

#define CONFIG(cluster, user)                                           \
    "apiVersion: v1\nkind: Config\ncurrent-context: other\ncontexts:\n" \
    "- name: lab\n  context: {cluster: c, user: u, namespace: ml}\n"    \
    "- name: lost\n  context: {cluster: nowhere, user: u}\n"            \
    "clusters:\n- name: c\n  cluster: " cluster "\nusers:\n- name: u\n  user: " user "\n"

static struct rb_kubeconfig loaded(const char *namespace)
{
    struct rb_kubeconfig c;
    struct rb_err err = {0};
    if (!rb_kubeconfig_load("lab", namespace, &c, &err))
        fail_msg("%s:%d: %s: %s", err.file, err.line, err.key, err.message);
    return c;
}

static void a_context_with_certificates(void **state)
{
    (void)state;
    write_file(
        "config",
        CONFIG("{server: \"https://10.0.0.1:6443/\", certificate-authority: ca.pem, tls-server-name: api, proxy-url: "
               "\"http://127.0.0.1:8\"}",
               "{client-certificate-data: LS0tLS1CRUdJTiBDRVJU, client-key: key.pem}"),
        0600);
    write_file("ca.pem", "-----BEGIN CA", 0644);
    write_file("key.pem", "-----BEGIN KEY", 0600);
    struct rb_kubeconfig c = loaded(NULL);
    assert_string_equal(c.server, "https://10.0.0.1:6443");
    assert_string_equal(c.namespace, "ml");
    assert_string_equal(c.peer.ca_pem, "-----BEGIN CA");
    assert_string_equal(c.peer.cert_pem, "-----BEGIN CERT");
    assert_string_equal(c.peer.key_pem, "-----BEGIN KEY");
    assert_string_equal(c.peer.tls_name, "api");
    assert_string_equal(c.peer.proxy, "http://127.0.0.1:8");
    assert_null(c.token);
    rb_kubeconfig_finish(&c);
    c = loaded("other");
    assert_string_equal(c.namespace, "other");
    rb_kubeconfig_finish(&c);
}

static void the_first_file_of_a_list_counts(void **state)
{
    (void)state;
    char list[200];
    write_file("config", CONFIG("{server: \"https://first\"}", "{token: one}"), 0600);
    write_file("second", CONFIG("{server: \"https://second\"}", "{token: two}"), 0600);
    snprintf(list, sizeof list, "%s/absent:%s/config:%s/second", dir, dir, dir);
    setenv("KUBECONFIG", list, 1);
    struct rb_kubeconfig c = loaded(NULL);
    assert_string_equal(c.server, "https://first");
    assert_string_equal(c.token, "one");
    rb_kubeconfig_finish(&c);
}

static void refuses_what_is_not_safe(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *user, *says, *key;
        int mode;
    } cases[] = {
        {"{server: \"http://10.0.0.1\"}", "{token: t}", "RB3022 refused", "clusters[0].cluster.server", 0600},
        {"{server: \"https://10.0.0.1\", insecure-skip-tls-verify: true}", "{token: t}", "RB3501 refused",
         "clusters[0].cluster.insecure-skip-tls-verify", 0600},
        {"{}", "{token: t}", "RB3501 server", "clusters[0].cluster", 0600},
        {"{server: \"https://a\", certificate-authority: absent}", "{token: t}", "RB3501 does not exist",
         "clusters[0].cluster.certificate-authority", 0600},
        {"{server: \"https://a\", certificate-authority-data: \"%%%\"}", "{token: t}", "RB3501 base64",
         "clusters[0].cluster.certificate-authority-data", 0600},
        {"{server: \"https://a\"}", "{token: t}", "RB3004 chmod 600", "", 0644},
        {"{server: \"https://a\"}", "{username: u, password: p}", "RB3501 not supported", "users[0].user.username",
         0600},
        {"{server: \"https://a\"}", "{client-certificate-data: LS0tLS1CRUdJTiBDRVJU}", "RB3501 one of them",
         "users[0].user", 0600},
        {"{server: \"https://a\"}", "{exec: {command: aws, apiVersion: v0}}", "RB3501 apiVersion", "users[0].user.exec",
         0600},
        {"{server: \"https://a\"}",
         "{exec: {command: aws, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always}}",
         "RB3501 no terminal", "users[0].user.exec.interactiveMode", 0600},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char text[1500];
        struct rb_kubeconfig c = {0};
        struct rb_err err = {0};
        snprintf(text, sizeof text, CONFIG("%s", "%s"), cases[i].cluster, cases[i].user);
        write_file("config", text, cases[i].mode);
        assert_false(rb_kubeconfig_load("lab", NULL, &c, &err));
        assert_says(&err, cases[i].says);
        assert_string_equal(err.key, cases[i].key);
        assert_string_equal(err.file, in_dir("config"));
    }
}

static void names_the_contexts_there_are(void **state)
{
    (void)state;
    struct rb_kubeconfig c = {0};
    struct rb_err err = {0};
    write_file("config", CONFIG("{server: \"http://127.0.0.1:1\"}", "{}"), 0644); // no secret in it
    assert_false(rb_kubeconfig_load("prod", NULL, &c, &err));
    assert_says(&err, "RB3501 there are: lab, lost");
    assert_false(rb_kubeconfig_load("lost", NULL, &c, &err));
    assert_says(&err, "\"nowhere\" is not among clusters");
    c = loaded(NULL);
    rb_kubeconfig_finish(&c);
    unsetenv("KUBECONFIG");
    assert_false(rb_kubeconfig_load("lab", NULL, &c, &err));
    assert_says(&err, "RB3501 no kubeconfig");
}

// --- logins

static void a_pod_reads_its_token_again(void **state)
{
    (void)state;
    struct test_loop loop;
    const char *token;
    struct rb_err err = {0};
    test_loop_init(&loop);
    unsetenv("KUBECONFIG");
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "6443", 1);
    setenv("RB_TEST_SERVICE_ACCOUNT", dir, 1);
    write_file("namespace", "ml", 0644);
    write_file("ca.crt", "-----BEGIN CA", 0644);
    write_file("token", "first\n", 0644);
    struct rb_kubeconfig c = loaded(NULL);
    assert_string_equal(c.server, "https://[fd00::1]:6443");
    assert_string_equal(c.namespace, "ml");
    struct rb_kube_login *l = rb_kube_login_create(&loop.loop, &c);
    assert_true(rb_kube_login_get(l, &token, &err));
    assert_string_equal(token, "first");
    write_file("token", "second", 0644);
    loop.skipped_us += 59 * RB_US_PER_S;
    assert_true(rb_kube_login_get(l, &token, &err));
    assert_string_equal(token, "first");
    loop.skipped_us += 2 * RB_US_PER_S;
    assert_true(rb_kube_login_get(l, &token, &err));
    assert_string_equal(token, "second");
    write_file("token", "two words", 0644);
    assert_true(rb_kube_login_forget(l));
    assert_true(rb_kube_login_get(l, &token, &err)); // the first word
    write_file("token", "\n", 0644);
    rb_kube_login_forget(l);
    assert_false(rb_kube_login_get(l, &token, &err));
    assert_says(&err, "RB3502 one token");
    rb_kube_login_destroy(l);
    rb_kubeconfig_finish(&c);
}

#define PLUGIN                                                                                   \
    CONFIG("{server: \"https://a\"}",                                                            \
           "{exec: {command: ./plugin, args: [x], apiVersion: client.authentication.k8s.io/v1, " \
           "env: [{name: MARK, value: m}], provideClusterInfo: true}}")

static void a_plugin_runs_when_its_credential_ends(void **state)
{
    (void)state;
    struct test_loop loop;
    const char *token;
    struct rb_err err = {0};
    char ends[32], script[900];
    test_loop_init(&loop);
    const int64_t now_us = loop.loop.unix_us(loop.loop.ctx);
    rb_format_instant(now_us / RB_US_PER_S * RB_US_PER_S + 600 * RB_US_PER_S, ends);
    snprintf(script, sizeof script,
             "#!/bin/sh\necho x >>%s/count\ncase $KUBERNETES_EXEC_INFO in "
             "*'\"interactive\":false,\"cluster\":{\"server\":\"https://a\"'*) ;; *) exit 1 ;; esac\n"
             "echo "
             "\"{\\\"apiVersion\\\":\\\"client.authentication.k8s.io/"
             "v1\\\",\\\"kind\\\":\\\"ExecCredential\\\",\\\"status\\\":{\\\"token\\\":\\\"$1$MARK$(wc -l <%s/count | "
             "tr -d ' ')\\\","
             "\\\"expirationTimestamp\\\":\\\"%s\\\"}}\"\n",
             dir, dir, ends);
    write_file("config", PLUGIN, 0600);
    write_file("plugin", script, 0700);
    struct rb_kubeconfig c = loaded(NULL);
    struct rb_kube_login *l = rb_kube_login_create(&loop.loop, &c);
    for (int i = 0; i < 3; i++) {
        if (!rb_kube_login_get(l, &token, &err))
            fail_msg("%s", err.message);
        assert_string_equal(token, "xm1");
    }
    assert_true(rb_kube_login_forget(l)); // a 401
    assert_true(rb_kube_login_get(l, &token, &err));
    assert_string_equal(token, "xm2");
    loop.skipped_us += 490 * RB_US_PER_S; // two minutes before its end
    assert_true(rb_kube_login_get(l, &token, &err));
    assert_string_equal(token, "xm3");
    write_file("plugin", "#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"status\":{}}'\n", 0700);
    rb_kube_login_forget(l);
    assert_false(rb_kube_login_get(l, &token, &err));
    assert_says(&err, "RB3502 status.token");
    write_file("plugin", "#!/bin/sh\nexit 1\n", 0700);
    assert_false(rb_kube_login_get(l, &token, &err));
    assert_says(&err, "run it by hand");
    rb_kube_login_destroy(l);
    rb_kubeconfig_finish(&c);
}

// --- the door

struct asking {
    char path[64];
    bool refused, over, ok;
    struct rb_kube_key key;
    struct rb_err err;
};

static void *ask(void *arg)
{
    struct asking *a = arg;
    a->ok = rb_kube_door_ask(a->path, "lab", a->refused, &a->key, &a->err);
    a->over = true;
    return NULL;
}

// Serves the door until the other thread has its answer.
static void ask_through(struct test_loop *loop, struct asking *a)
{
    pthread_t thread;
    pthread_create(&thread, NULL, ask, a);
    test_loop_run(loop, &a->over);
    pthread_join(thread, NULL);
}

// Of "ann", until 2030-01-01.
#define CERTIFICATE \
    "-----BEGIN CERTIFICATE-----\n" \
    "MIIBBDCBqgIBATAKBggqhkjOPQQDAjAOMQwwCgYDVQQDDANhbm4wHhcNMjYwMTAx\n" \
    "MDAwMDAwWhcNMzAwMTAxMDAwMDAwWjAOMQwwCgYDVQQDDANhbm4wWTATBgcqhkjO\n" \
    "PQIBBggqhkjOPQMBBwNCAARKPK+bflWLQNVZ40kVYrWevi1YFT8eXt4njJNzhPSm\n" \
    "8LYMCzCPdJCTtKC7OFX5ILUaW9LTTbVMYGAAHcL0JBypMAoGCCqGSM49BAMCA0kA\n" \
    "MEYCIQCICBE6NAn9ehtESEhx3v8dJL+qHoMmYLyYXWD22U2pQQIhAKNSGwbO6LGC\n" \
    "AKP+NY/ysOtde7WnsmliEZN8lj+wQPuu\n" \
    "-----END CERTIFICATE-----\n"

// A client certificate lies in a file beside the kubeconfig, or ends with the token that is used instead.
static int64_t ends_us(const char *config)
{
    struct test_loop loop;
    test_loop_init(&loop);
    write_file("config", config, 0600);
    struct rb_kubeconfig c = loaded(NULL);
    struct rb_kube_login *l = rb_kube_login_create(&loop.loop, &c);
    const int64_t end_us = rb_kube_login_ends_us(l);
    rb_kube_login_destroy(l);
    rb_kubeconfig_finish(&c);
    return end_us;
}

static void what_only_a_person_renews_has_an_end(void **state)
{
    (void)state;
    static const int64_t in_2030_us = INT64_C(1893456000) * RB_US_PER_S;
    static const char token[] = "e30.eyJzdWIiOiJhbm4iLCJleHAiOjE4OTM0NTYwMDB9.c2ln";
    write_file("cert.pem", CERTIFICATE, 0600);
    write_file("key.pem", "-----BEGIN KEY", 0600);
    write_file("token", token, 0600);
    assert_true(ends_us(CONFIG("{server: \"https://h\"}", "{client-certificate: cert.pem, client-key: key.pem}")) == in_2030_us);
    assert_true(ends_us(CONFIG("{server: \"https://h\"}", "{token: e30.eyJzdWIiOiJhbm4iLCJleHAiOjE4OTM0NTYwMDB9.c2ln}")) == in_2030_us);
    assert_true(ends_us(CONFIG("{server: \"https://h\"}", "{token: opaque}")) == -1);
    assert_true(ends_us(CONFIG("{server: \"https://h\"}", "{tokenFile: token}")) == -1);
    assert_true(ends_us(CONFIG("{server: \"https://h\"}",
                               "{exec: {apiVersion: client.authentication.k8s.io/v1, command: plugin, interactiveMode: Never}}")) == -1);
    assert_true(rb_jwt_ends_us(token) == in_2030_us);
    assert_true(rb_jwt_ends_us("e30.e30.e30") == -1 && rb_jwt_ends_us("a.b") == -1 && rb_jwt_ends_us("a.?.c") == -1);
    assert_true(rb_certificate_ends_us("-----BEGIN CERT") == -1);
}

static void the_door_opens_for_this_user_alone(void **state)
{
    (void)state;
    static const struct rb_kubernetes_spec spec = {.namespace = "jobs"};
    struct test_loop loop;
    struct rb_kube_door *door;
    struct rb_err err = {0};
    struct stat st;
    test_loop_init(&loop);
    write_file("config", CONFIG("{server: \"https://a\"}", "{token: secret}"), 0600);
    assert_true(rb_kube_door_open(&loop.loop, in_dir("door"), &spec, &door, &err));
    assert_int_equal(stat(in_dir("door"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct asking a = {0}, refused = {.refused = true};
    strcpy(a.path, in_dir("door"));
    strcpy(refused.path, a.path);
    ask_through(&loop, &a);
    assert_true(a.ok);
    assert_string_equal(a.key.server, "https://a");
    assert_string_equal(a.key.namespace, "jobs");
    assert_string_equal(a.key.token, "secret");
    rb_kube_key_finish(&a.key);
    ask_through(&loop, &refused); // a token in a file cannot be renewed
    assert_false(refused.ok);
    assert_says(&refused.err, "RB3502 does not accept");
    unlink(a.path);
    rb_kube_door_keep(door); // a cleaner was there
    a.over = false;
    ask_through(&loop, &a);
    assert_true(a.ok);
    rb_kube_key_finish(&a.key);
    rb_kube_door_close(door);
    assert_int_not_equal(stat(in_dir("door"), &st), 0);
    assert_false(rb_kube_door_ask(a.path, "lab", false, &a.key, &err));
    assert_says(&err, "RB3507 does not answer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_context_with_certificates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_file_of_a_list_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_is_not_safe, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_the_contexts_there_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pod_reads_its_token_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_plugin_runs_when_its_credential_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_only_a_person_renews_has_an_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_door_opens_for_this_user_alone, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
