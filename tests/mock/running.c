#include "base/clock.h"
#include "providers/wire/digest.h"
#include "running.h"
#include "signed.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define WAIT_US (15 * INT64_C(1000000))

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

// --- start and stop ---

// A port that no one has on loopback now.
static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static void write_text(const struct running *r, const char *name, const char *text)
{
    char path[128];
    struct rb_err err;
    snprintf(path, sizeof path, "%s/%s", r->dir, name);
    if (!rb_write_file(path, text, strlen(text), &err))
        fail_msg("%s", err.message);
}

static void write_cloud(struct running *r)
{
    write_text(r, "prices.csv",
               "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
               "aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,on_demand,1.006\n"
               "aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,spot,0.4125\n"
               "gcp/us-central1,g2-standard-4,L4,1,24,4,16,on_demand,0.707\n");
    write_text(r, "cloud.yaml",
               rb_arena_printf(
                   &r->arena,
                   "format: rb-mock/1\nprices: prices.csv\nssh_port: %d\nshutdown_s: 0.05\n"
                   "provisioning: [{infra: \"*\", instance_type: \"*\", market: \"*\", queue_s: 0.05, init_s: 0.1, "
                   "capacity_failure: 0.0}]\n",
                   r->ssh_port));
}

static void read_ready_line(struct running *r, int fd)
{
    char line[256];
    size_t n = 0;
    int64_t deadline_us = rb_clock_monotonic_us() + WAIT_US;
    while (n < sizeof line - 1 && !memchr(line, '\n', n) && rb_clock_monotonic_us() < deadline_us) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t got = poll(&p, 1, 100) > 0 ? read(fd, line + n, sizeof line - 1 - n) : -1;
        if (got == 0)
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    line[n] = '\0';
    if (sscanf(line, "ready ec2=http://127.0.0.1:%d gcp=http://127.0.0.1:%d", &r->port, &r->gcp_port) != 2)
        fail_msg("rbmock did not come up: %s", line);
}

static _Noreturn void become_rbmock(const struct running *r, const char *const *extra, int out)
{
    const char *argv[32] = {getenv("RBMOCK"), "--cloud", "cloud.yaml", "--state", "state"};
    int n = 5;
    if (!extra || strcmp(extra[0], "--credentials") != 0) {
        argv[n++] = "--key"; // what running_ec2 signs with
        argv[n++] = "test:test";
    }
    for (int k = 0; extra && extra[k]; k++)
        argv[n++] = extra[k];
    prctl(PR_SET_PDEATHSIG, SIGTERM); // a test that fails leaves nothing behind
    if (chdir(r->dir) != 0 || dup2(out, 1) < 0)
        _exit(126);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

void running_start(struct running *r, const char *const *extra)
{
    int ends[2];
    assert_non_null(getenv("RBMOCK")); // meson.build sets it to the executable
    memset(r, 0, sizeof *r);
    rb_arena_init(&r->arena);
    snprintf(r->dir, sizeof r->dir, "/tmp/rbmock-test-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    r->ssh_port = free_port();
    write_cloud(r);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    r->pid = fork();
    assert_true(r->pid >= 0);
    if (r->pid == 0)
        become_rbmock(r, extra, ends[1]);
    close(ends[1]);
    read_ready_line(r, ends[0]);
    close(ends[0]);
}

int running_stop(struct running *r)
{
    int status = -1;
    char command[128];
    kill(r->pid, SIGTERM);
    waitpid(r->pid, &status, 0);
    snprintf(command, sizeof command, "rm -rf %s", r->dir);
    run_shell(command, NULL);
    rb_arena_finish(&r->arena);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *read_text(struct running *r, const char *path)
{
    char *text;
    size_t n;
    struct rb_err err;
    if (!rb_read_file(path, 65536, &text, &n, &err))
        fail_msg("%s", err.message);
    const char *copy = rb_arena_strdup(&r->arena, text);
    free(text);
    return copy;
}

// --- HTTP ---

static void send_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = write(fd, bytes, n);
        assert_true(sent > 0);
        bytes += sent;
        n -= (size_t)sent;
    }
}

static struct reply exchange(struct running *r, int port, const struct rb_buf *request)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    RB_AUTO(rb_buf_finish) struct rb_buf answer = RB_BUF_INIT;
    char bytes[4096];
    ssize_t n;
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    send_all(fd, request->data, request->len);
    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        rb_buf_append(&answer, bytes, (size_t)n);
    close(fd);
    struct reply reply = {.body = ""};
    const char *text = rb_buf_str(&answer), *body = strstr(text, "\r\n\r\n");
    if (answer.len == 0)
        return reply;
    assert_int_equal(sscanf(text, "HTTP/1.1 %d", &reply.status), 1);
    assert_non_null(body);
    reply.body = rb_arena_strdup(&r->arena, body + 4);
    return reply;
}

static struct reply simple(struct running *r, const char *method, const char *path)
{
    RB_AUTO(rb_buf_finish) struct rb_buf request = RB_BUF_INIT;
    rb_buf_printf(&request, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                  method, path);
    return exchange(r, r->port, &request);
}

struct reply running_get(struct running *r, const char *path)
{
    return simple(r, "GET", path);
}

struct reply running_post(struct running *r, const char *path)
{
    return simple(r, "POST", path);
}

struct reply running_ec2(struct running *r, const char *action, const char *rest)
{
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf request = RB_BUF_INIT;
    char date[17], host[32];
    struct signing signing = {"test", "test", "us-east-1", rb_clock_unix_us(), host};
    snprintf(host, sizeof host, "127.0.0.1:%d", r->port);
    amz_date(signing.unix_us, date);
    rb_buf_printf(&body, "Action=%s&Version=2016-11-15%s%s", action, *rest ? "&" : "", rest);
    rb_buf_printf(&request,
                  "POST / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Type: " FORM_TYPE
                  "\r\nContent-Length: %zu\r\nX-Amz-Date: %s\r\nAuthorization: ",
                  host, body.len, date);
    sign_form(&signing, rb_buf_str(&body), &request);
    rb_buf_puts(&request, "\r\n\r\n");
    rb_buf_append(&request, body.data, body.len);
    return exchange(r, r->port, &request);
}

struct reply running_gcp(struct running *r, const char *method, const char *path, const char *body)
{
    RB_AUTO(rb_buf_finish) struct rb_buf request = RB_BUF_INIT;
    rb_buf_printf(&request,
                  "%s /compute/v1/projects/test/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
                  "Authorization: Bearer test\r\nContent-Length: %zu\r\n\r\n%s",
                  method, path, r->gcp_port, strlen(body), body);
    return exchange(r, r->gcp_port, &request);
}

// --- instances ---

static void launch(struct running *r, const char *more, const char *user_data, int n, char out_ids[][20])
{
    RB_AUTO(rb_buf_finish) struct rb_buf form = RB_BUF_INIT;
    rb_buf_printf(&form,
                  "ImageId=ami-00000000000000000&InstanceType=g5.xlarge&MinCount=%d&MaxCount=%d"
                  "&InstanceInitiatedShutdownBehavior=terminate%s",
                  n, n, more);
    if (user_data) {
        size_t len = strlen(user_data);
        char *encoded = rb_arena_alloc(&r->arena, 4 * ((len + 2) / 3) + 1);
        rb_base64_encode(user_data, len, encoded);
        add_parameter(&form, "UserData", encoded);
    }
    struct reply reply = running_ec2(r, "RunInstances", rb_buf_str(&form));
    if (reply.status != 200)
        fail_msg("%s", reply.body);
    const char *at = reply.body;
    for (int k = 0; k < n; k++) {
        at = strstr(at, "<instanceId>");
        assert_non_null(at);
        at += strlen("<instanceId>");
        snprintf(out_ids[k], 20, "%.19s", at);
    }
}

void running_launch(struct running *r, const char *user_data, int n, char out_ids[][20])
{
    launch(r, "", user_data, n, out_ids);
}

void running_launch_spot(struct running *r, const char *user_data, char out_id[static 20])
{
    launch(r, "&InstanceMarketOptions.MarketType=spot", user_data, 1, (char(*)[20])out_id);
}

void running_terminate(struct running *r, const char *id)
{
    struct reply reply = running_ec2(r, "TerminateInstances", rb_arena_printf(&r->arena, "InstanceId.1=%s", id));
    if (reply.status != 200)
        fail_msg("%s", reply.body);
}

static const char *member_of(struct running *r, const struct rb_node *list, const char *id, const char *member)
{
    for (const struct rb_node *item = list->first; item; item = item->next) {
        struct rb_map m;
        struct rb_err err;
        const char *its_id;
        assert_true(rb_map_begin(&m, item, &err));
        assert_true(rb_node_string(rb_map_get(&m, "id"), &its_id, &err));
        const struct rb_node *value = strcmp(its_id, id) == 0 ? rb_map_get(&m, member) : NULL;
        if (value)
            return rb_arena_strdup(&r->arena, value->kind == RB_NODE_NULL ? "null" : value->text);
    }
    fail_msg("no %s of %s", member, id);
    return NULL;
}

static const char *ask(struct running *r, const char *path, const char *list, const char *id, const char *member)
{
    struct reply reply = running_get(r, path);
    struct rb_doc doc;
    struct rb_err err;
    assert_int_equal(reply.status, 200);
    if (!rb_doc_parse_json(&doc, path, reply.body, strlen(reply.body), &err))
        fail_msg("%s: %s", err.message, reply.body);
    struct rb_map m;
    const struct rb_node *items = doc.root;
    if (list) {
        assert_true(rb_map_begin(&m, doc.root, &err));
        items = rb_map_get(&m, list);
    }
    const char *value = member_of(r, items, id, member);
    rb_doc_finish(&doc);
    return value;
}

const char *running_instance(struct running *r, const char *id, const char *member)
{
    return ask(r, "/_rbmock/instances", NULL, id, member);
}

const char *running_ledger(struct running *r, const char *id, const char *member)
{
    return ask(r, "/_rbmock/ledger", "instances", id, member);
}

static void await_value(struct running *r, const char *id, const char *member, const char *value, bool equal)
{
    int64_t deadline_us = rb_clock_monotonic_us() + WAIT_US;
    const char *got;
    while ((strcmp(got = running_instance(r, id, member), value) == 0) != equal) {
        if (rb_clock_monotonic_us() > deadline_us)
            fail_msg("%s of %s is %s, expected%s %s", member, id, got, equal ? "" : " anything but", value);
        pause_ms(20);
    }
}

void running_await(struct running *r, const char *id, const char *member, const char *value)
{
    await_value(r, id, member, value, true);
}

void running_await_change(struct running *r, const char *id, const char *member, const char *old_value)
{
    await_value(r, id, member, old_value, false);
}

void running_await_words(struct running *r, const char *file, const char *words)
{
    int64_t deadline_us = rb_clock_monotonic_us() + WAIT_US;
    const char *text;
    while (!strstr(text = read_text(r, rb_arena_printf(&r->arena, "%s/%s", r->dir, file)), words)) {
        if (rb_clock_monotonic_us() > deadline_us)
            fail_msg("%s does not hold %s: %s", file, words, text);
        pause_ms(20);
    }
}

// --- ssh ---

const char *running_cloud_config(struct running *r, const char *more)
{
    char command[512];
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    snprintf(command, sizeof command,
             "cd %s && { [ -f key ] || { ssh-keygen -q -t ed25519 -N '' -C test -f key && ssh-keygen -q -t "
             "ed25519 -N '' -C "
             "node -f host && printf 'node %%s' \"$(cat host.pub)\" >known_hosts; }; }",
             r->dir);
    assert_int_equal(run_shell(command, NULL), 0);
    rb_buf_printf(&text,
                  "#cloud-config\nssh_authorized_keys:\n  - %s\nssh_deletekeys: true\nssh_keys:\n"
                  "  ed25519_public: %s\n  ed25519_private: |\n",
                  read_text(r, rb_arena_printf(&r->arena, "%s/key.pub", r->dir)),
                  read_text(r, rb_arena_printf(&r->arena, "%s/host.pub", r->dir)));
    const char *key = read_text(r, rb_arena_printf(&r->arena, "%s/host", r->dir));
    for (size_t n; *key; key += n + (key[n] == '\n')) {
        n = strcspn(key, "\n");
        rb_buf_printf(&text, "    %.*s\n", (int)n, key);
    }
    rb_buf_puts(&text, more);
    return rb_arena_strdup(&r->arena, rb_buf_str(&text));
}

int running_ssh(struct running *r, const char *id, const char *command, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    rb_buf_printf(&line,
                  "cd %s && exec ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=yes -o "
                  "UserKnownHostsFile=known_hosts "
                  "-o GlobalKnownHostsFile=/dev/null -o HostKeyAlias=node -o IdentitiesOnly=yes -o ConnectTimeout=10 "
                  "-o LogLevel=ERROR -i key -p %s %s@%s -- ",
                  r->dir, running_instance(r, id, "ssh_port"), running_instance(r, id, "ssh_user"),
                  running_instance(r, id, "address"));
    rb_buf_shell_quote(&line, command);
    rb_buf_puts(&line, " 2>&1");
    return run_shell(rb_buf_str(&line), out);
}

// --- the host ---

int run_shell(const char *command, struct rb_buf *out)
{
    char bytes[4096];
    size_t n;
    FILE *f = popen(command, "re");
    assert_non_null(f);
    while ((n = fread(bytes, 1, sizeof bytes, f)) > 0)
        if (out)
            rb_buf_append(out, bytes, n);
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool command_line_holds(const char *pid, const char *word)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    for (ssize_t k = 0; k < n; k++) // arguments are separated by NUL bytes; a zombie has none
        text[k] = text[k] ? text[k] : ' ';
    text[n > 0 ? n : 0] = '\0';
    return strstr(text, word) != NULL;
}

bool process_exists(const char *word)
{
    bool found = false;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (struct dirent *e; (e = readdir(proc));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && atoi(e->d_name) != getpid())
            found |= command_line_holds(e->d_name, word);
    closedir(proc);
    return found;
}

bool await_process(const char *word, bool exists)
{
    int64_t deadline_us = rb_clock_monotonic_us() + 10 * INT64_C(1000000);
    while (process_exists(word) != exists) {
        if (rb_clock_monotonic_us() > deadline_us)
            return false;
        pause_ms(20);
    }
    return true;
}
