// Wiring: sockets, signals, clock and nodes around the pure parts.
#include "providers/mock/server/server.h"
#include "base/clock.h"
#include "base/document/doc.h"
#include "base/errors/log.h"
#include "providers/mock/cloud/control.h"
#include "providers/mock/cloud/delivery.h"
#include "providers/mock/cloud/ledger.h"
#include "providers/mock/ec2/mock_ec2.h"
#include "providers/mock/gcp/mock_gcp.h"
#include "providers/mock/k8s/mock_k8s.h"
#include "providers/mock/node/nodes.h"
#include "providers/mock/node/passport.h"
#include "providers/mock/server/certificate.h"
#include "providers/mock/server/tls_relay.h"
#include "providers/mock/server/connections.h"
#include "providers/mock/server/exec_streams.h"
#include "providers/mock/server/gate.h"
#include "providers/wire/digest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BODY_BYTES  (1 << 20) // 1000 ids are 40 kB, user data 22 kB, tags 20 kB
#define MAX_CONNECTIONS 1000
#define LEDGER_PAUSE_US (100 * INT64_C(1000)) // the ledger is written at most ten times a second
#define MAX_HEADERS     100

enum front { FRONT_EC2, FRONT_GCP, FRONT_K8S, N_FRONTS };

// A port and what answers behind it.
struct door {
    struct server *server;
    enum front front;
    struct MHD_Daemon *http;
    int fd, port;
};

struct server {
    const struct rb_mock_server_config *config;
    struct rb_cloud_config cloud_config;
    struct rb_arena arena;
    struct rb_cloud *cloud;
    struct rb_nodes *nodes;
    struct rb_mock_ec2 ec2;
    struct rb_mock_gcp *gcp;
    struct rb_mock_k8s *k8s;          // NULL: no cluster is served; likewise pods and streams
    struct rb_pods *pods;
    struct rb_exec_streams *streams;
    struct rb_mock_certificate certificate;
    struct rb_tls_relay *relay; // to FRONT_K8S
    struct rb_mock_control control;
    struct door doors[N_FRONTS];
    struct rb_deliveries *deliveries;
    struct rb_mock_connections connections;
    int signal_fd;
    sigset_t old_signals;
    const char *nodes_dir, *ledger_path; // ledger_path NULL: none
    const char *keys_dir;                // where the customer's keys are; NULL: nowhere yet
    bool owns_dir;                       // nodes_dir is ours to remove
    int64_t start_unix_us, start_monotonic_us;
    uint64_t ledger_version;
    int64_t ledger_written_us; // monotonic
};

// The cloud's clock: the host's when the cloud began, running `speed` times as fast since.
static int64_t cloud_now_us(const struct server *s)
{
    int64_t elapsed_us = rb_clock_monotonic_us() - s->start_monotonic_us;
    return s->start_unix_us + (int64_t)((double)elapsed_us * s->config->speed);
}

// --- one request ---

struct request {
    char *uri; // path and query as sent
    struct rb_buf body;
    bool too_long, begun;
};

static void *begin_request(void *arg, const char *uri, struct MHD_Connection *connection)
{
    (void)arg;
    rb_mock_connection_is(connection, RB_MOCK_ASKING);
    struct request *r = rb_xcalloc(1, sizeof *r);
    r->uri = rb_xstrdup(uri);
    return r;
}

static void end_request(void *arg, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode how)
{
    (void)arg, (void)how;
    rb_mock_connection_is(connection, RB_MOCK_IDLE);
    struct request *r = *state;
    if (!r)
        return;
    rb_buf_finish(&r->body);
    free(r->uri);
    free(r);
    *state = NULL;
}

struct headers {
    struct rb_sigv4_header list[MAX_HEADERS];
    int n;
};

static enum MHD_Result add_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    struct headers *h = arg;
    if (h->n < MAX_HEADERS)
        h->list[h->n++] = (struct rb_sigv4_header){name, value ? value : ""};
    return MHD_YES;
}

static void answer_request(struct server *s, enum front front, const struct rb_exchange_request *x,
                           struct rb_exchange_answer *out)
{
    int64_t now_us = cloud_now_us(s);
    if (!rb_mock_gate_passes(x, out))
        return;
    rb_cloud_advance(s->cloud, now_us);
    if (strncmp(x->path, RB_MOCK_CONTROL_PREFIX, strlen(RB_MOCK_CONTROL_PREFIX)) == 0)
        rb_mock_control_answer(&s->control, x, now_us, out);
    else if (front == FRONT_K8S)
        rb_mock_k8s_answer(s->k8s, x, now_us, out);
    else if (front == FRONT_EC2)
        rb_mock_ec2_answer(&s->ec2, x, now_us, rb_clock_unix_us(), out);
    else
        rb_mock_gcp_answer(s->gcp, x, now_us, rb_clock_unix_us(), out);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state)
{
    (void)url, (void)version;
    const struct door *door = arg;
    struct request *r = *state;
    if (!r->begun) { // headers only; what follows is the body
        r->begun = true;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        r->too_long |= r->body.len + *upload_size > MAX_BODY_BYTES;
        if (!r->too_long)
            rb_buf_append(&r->body, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    struct rb_exchange_answer answer = {.status = 413};
    rb_mock_connection_is(connection, RB_MOCK_ANSWERED);
    if (!r->too_long) {
        struct headers headers = {0};
        char *query = strchr(r->uri, '?');
        if (query)
            *query++ = '\0';
        MHD_get_connection_values(connection, MHD_HEADER_KIND, add_header, &headers);
        struct rb_exchange_request x = {.method = method,
                                        .path = r->uri,
                                        .query = query ? query : "",
                                        .headers = headers.list,
                                        .n_headers = headers.n,
                                        .body = rb_buf_str(&r->body),
                                        .body_len = r->body.len};
        answer_request(door->server, door->front, &x, &answer);
    }
    enum MHD_Result result = rb_deliveries_send(door->server->deliveries, connection, &answer);
    rb_buf_finish(&answer.body);
    rb_buf_finish(&answer.headers);
    return result;
}

static bool open_door(struct server *s, enum front front, int port, struct rb_err *err)
{
    struct door *d = &s->doors[front];
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    d->http = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE, (uint16_t)port, NULL, NULL, handle, d, MHD_OPTION_SOCK_ADDR, &at,
        MHD_OPTION_URI_LOG_CALLBACK, begin_request, NULL, MHD_OPTION_NOTIFY_COMPLETED, end_request, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, rb_mock_connections_notify, &s->connections, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)RB_MOCK_IDLE_S,
        MHD_OPTION_END);
    if (!d->http)
        return rb_err_set(err, RB_E_MOCK_SOCKET, "cannot listen on 127.0.0.1:%d: %s; 0 picks a free port", port,
                          strerror(errno));
    d->server = s;
    d->front = front;
    d->fd = MHD_get_daemon_info(d->http, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    d->port = MHD_get_daemon_info(d->http, MHD_DAEMON_INFO_BIND_PORT)->port;
    return true;
}

static void switch_connection(void *arg, void *session, int fd, const char *bytes, size_t n,
                              struct MHD_UpgradeResponseHandle *handle)
{
    rb_exec_streams_begin(((struct server *)arg)->streams, session, fd, bytes, n, handle);
}

static bool start_http(struct server *s, struct rb_err *err)
{
    s->deliveries = rb_deliveries_create(switch_connection, s);
    for (int k = 0; k < N_FRONTS; k++)
        s->doors[k].fd = -1;
    return open_door(s, FRONT_EC2, s->config->ec2_port, err) && open_door(s, FRONT_GCP, s->config->gcp_port, err) &&
           (!s->k8s || (open_door(s, FRONT_K8S, s->config->k8s_port, err) &&
                        rb_tls_relay_create(&s->certificate, s->doors[FRONT_K8S].port, &s->relay, err)));
}

static void stop_http(struct server *s)
{
    rb_exec_streams_destroy(s->streams);
    rb_tls_relay_destroy(s->relay);
    if (s->deliveries)
        rb_deliveries_abandon(s->deliveries);
    for (int k = 0; k < N_FRONTS; k++)
        if (s->doors[k].http) {
            MHD_run(s->doors[k].http); // what was suspended ends, or the daemon would not stop
            MHD_stop_daemon(s->doors[k].http);
        }
    rb_deliveries_destroy(s->deliveries);
}

// --- the cloud and its nodes ---

static void carry_out_orders(struct server *s)
{
    struct rb_cloud_order order;
    while (rb_cloud_next_order(s->cloud, &order)) {
        const struct rb_cloud_instance *i = order.instance;
        switch (order.what) {
        case RB_CLOUD_BOOT:
            rb_nodes_boot(s->nodes, i->id, i->address, i->user_data, i->user_data_len);
            break;
        case RB_CLOUD_END:
            rb_nodes_end(s->nodes, i->id);
            break;
        case RB_CLOUD_DARK:
            rb_nodes_accident(s->nodes, i->id, RB_NODE_POWEROFF, NULL); // it may be down already
            break;
        }
    }
}

static void take_reports(struct server *s)
{
    struct rb_node_report r;
    while (rb_nodes_next_report(s->nodes, &r)) {
        struct rb_cloud_instance *i = rb_cloud_find(s->cloud, r.id);
        int64_t now_us = cloud_now_us(s);
        switch (r.what) {
        case RB_NODE_READY:
            rb_cloud_node_ready(s->cloud, i, now_us);
            break;
        case RB_NODE_FAILED:
            rb_warn("%s will not be reachable: %s", r.id, r.text);
            rb_cloud_node_failed(s->cloud, i, r.text);
            break;
        case RB_NODE_GONE:
            rb_cloud_node_gone(s->cloud, i, now_us);
            break;
        case RB_NODE_SHUTDOWN:
            rb_cloud_guest_shutdown(s->cloud, i, now_us, r.minutes * 60 * RB_US_PER_S);
            break;
        case RB_NODE_CANCEL:
            rb_cloud_guest_cancel(s->cloud, i);
            break;
        }
    }
}

static void carry_out_pods(struct server *s)
{
    struct rb_k8s_order order;
    while (rb_mock_k8s_next_order(s->k8s, &order))
        switch (order.what) {
        case RB_K8S_START:
            rb_pods_start(s->pods, &order.start);
            break;
        case RB_K8S_SIGNAL:
            rb_pods_signal(s->pods, order.uid, order.signal_number);
            break;
        case RB_K8S_VANISH:
            rb_pods_vanish(s->pods, order.uid);
            break;
        }
}

static void run_pods(struct server *s)
{
    struct rb_pod_report r;
    if (!s->k8s)
        return;
    rb_exec_streams_run(s->streams);
    while (rb_pods_next_report(s->pods, &r))
        if (r.what == RB_POD_EXEC_ENDED || r.what == RB_POD_EXEC_FAILED)
            rb_exec_streams_report(s->streams, &r);
        else
            rb_mock_k8s_report(s->k8s, &r, cloud_now_us(s));
    if (rb_exec_streams_have_let_go(s->streams))
        for (int k = FRONT_K8S; k < N_FRONTS; k++)
            MHD_run(s->doors[k].http);
    rb_mock_k8s_advance(s->k8s, cloud_now_us(s));
    carry_out_pods(s);
}

static void keep_ledger(struct server *s, bool at_once)
{
    int64_t now_us = rb_clock_monotonic_us();
    if (!s->ledger_path || s->ledger_version == rb_cloud_version(s->cloud) ||
        (!at_once && now_us < s->ledger_written_us + LEDGER_PAUSE_US))
        return;
    struct rb_buf text = RB_BUF_INIT;
    struct rb_err err;
    rb_ledger_write(s->cloud, cloud_now_us(s), &text);
    if (!rb_write_file(s->ledger_path, rb_buf_str(&text), text.len, &err))
        rb_warn("%s", err.message);
    rb_buf_finish(&text);
    s->ledger_version = rb_cloud_version(s->cloud);
    s->ledger_written_us = now_us;
}

// --- the loop ---

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Milliseconds until something is due; -1: nothing is.
static int timeout_ms(const struct server *s)
{
    int64_t wait_us = INT64_MAX, next_us = rb_cloud_next_us(s->cloud), drip_us = rb_deliveries_next_us(s->deliveries);
    const int64_t cut_us = rb_mock_connections_next_us(&s->connections);
    MHD_UNSIGNED_LONG_LONG http_ms;
    if (s->k8s)
        next_us = sooner(next_us, rb_mock_k8s_next_us(s->k8s));
    if (next_us != INT64_MAX) {
        int64_t left_us = next_us - cloud_now_us(s);
        wait_us = left_us > 0 ? (int64_t)((double)left_us / s->config->speed) + 1000 : 0;
    }
    drip_us = sooner(drip_us, cut_us);
    if (drip_us != INT64_MAX)
        wait_us = sooner(wait_us, drip_us > rb_clock_monotonic_us() ? drip_us - rb_clock_monotonic_us() : 0);
    for (int k = 0; k < N_FRONTS; k++)
        if (s->doors[k].http && MHD_get_timeout(s->doors[k].http, &http_ms) == MHD_YES && http_ms < INT32_MAX)
            wait_us = sooner(wait_us, (int64_t)http_ms * 1000);
    if (s->ledger_path && s->ledger_version != rb_cloud_version(s->cloud))
        wait_us = sooner(wait_us, LEDGER_PAUSE_US);
    if (wait_us == INT64_MAX)
        return -1;
    return wait_us / 1000 < 3600 * 1000 ? (int)(wait_us / 1000) : 3600 * 1000;
}

static bool serve(struct server *s, struct rb_err *err)
{
    struct pollfd fds[] = {{.fd = s->signal_fd, .events = POLLIN},
                           {.fd = rb_nodes_fd(s->nodes), .events = POLLIN},
                           {.fd = s->doors[FRONT_EC2].fd, .events = POLLIN},
                           {.fd = s->doors[FRONT_GCP].fd, .events = POLLIN},
                           {.fd = s->doors[FRONT_K8S].fd, .events = POLLIN},
                           {.fd = s->relay ? rb_tls_relay_fd(s->relay) : -1, .events = POLLIN},
                           {.fd = s->k8s ? rb_pods_fd(s->pods) : -1, .events = POLLIN},
                           {.fd = s->k8s ? rb_exec_streams_fd(s->streams) : -1, .events = POLLIN}};
    for (;;) {
        if (poll(fds, sizeof fds / sizeof *fds, timeout_ms(s)) < 0 && errno != EINTR)
            return rb_err_set(err, RB_E_MOCK_SYSTEM, "poll: %s", strerror(errno));
        if (fds[0].revents) {
            struct signalfd_siginfo info; // taken, or it would strike when signals are unblocked
            return read(s->signal_fd, &info, sizeof info) == sizeof info ||
                   rb_err_set(err, RB_E_MOCK_SYSTEM, "signalfd: %s", strerror(errno));
        }
        rb_deliveries_resume(s->deliveries, rb_clock_monotonic_us());
        rb_mock_connections_cut(&s->connections, rb_clock_monotonic_us());
        if (s->relay)
            rb_tls_relay_run(s->relay);
        for (int k = 0; k < N_FRONTS; k++)
            if (s->doors[k].http)
                MHD_run(s->doors[k].http);
        take_reports(s);
        run_pods(s);
        rb_cloud_advance(s->cloud, cloud_now_us(s));
        carry_out_orders(s);
        take_reports(s);
        keep_ledger(s, false);
    }
}

// --- beginning and end ---

static bool make_dirs(struct server *s, struct rb_err *err)
{
    const char *state = s->config->state_dir, *tmp = getenv("TMPDIR");
    if (!state) {
        char *dir = rb_arena_printf(&s->arena, "%s/rbmock-XXXXXX", tmp && *tmp ? tmp : "/tmp");
        s->nodes_dir = mkdtemp(dir);
        s->owns_dir = s->nodes_dir != NULL;
        s->keys_dir = s->nodes_dir;
        return s->nodes_dir || rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot make %s: %s; set TMPDIR, or give --state", dir,
                                          strerror(errno));
    }
    if (mkdir(state, 0700) != 0 && errno != EEXIST)
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot make --state %s: %s", state, strerror(errno));
    char *whole = realpath(state, NULL); // nodes change their directory
    if (!whole)
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot enter --state %s: %s", state, strerror(errno));
    s->nodes_dir = rb_arena_printf(&s->arena, "%s/nodes", whole);
    s->ledger_path = rb_arena_printf(&s->arena, "%s/ledger.json", whole);
    s->keys_dir = rb_arena_strdup(&s->arena, whole);
    free(whole);
    if (mkdir(s->nodes_dir, 0700) != 0 && errno != EEXIST)
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot make %s: %s; give another --state", s->nodes_dir,
                          strerror(errno));
    return true;
}

// The PATH of nodes and pods: ours, and the system's.
static const char *host_path(struct server *s)
{
    const char *path = getenv("PATH"), *standard = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    return path && *path ? rb_arena_printf(&s->arena, "%s:%s", path, standard) : standard;
}

static bool start_nodes(struct server *s, struct rb_err *err)
{
    struct rb_nodes_config c = {.directory = s->nodes_dir,
                                .ssh_port = s->cloud_config.ssh_port,
                                .host_path = host_path(s),
                                .netns = s->config->netns,
                                .speed = s->config->speed,
                                .keep_logs = s->config->state_dir != NULL};
    if (!rb_nodes_create(&c, &s->nodes, err))
        return false;
    rb_nodes_addresses(s->nodes, &s->cloud_config.first_address, &s->cloud_config.n_addresses);
    return true;
}

static void read_output(const struct server *s, const char *id, const char *name, struct rb_buf *out)
{
    char path[4096], bytes[4096];
    size_t n;
    snprintf(path, sizeof path, "%s/%s/%s", s->nodes_dir, id, name);
    FILE *f = fopen(path, "re");
    while (f && (n = fread(bytes, 1, sizeof bytes, f)) > 0)
        rb_buf_append(out, bytes, n);
    if (f)
        fclose(f);
}

// The output of a node's boot, for a serial console. It is deleted with the node, unless --state keeps it.
static void read_console(void *arg, const char *id, struct rb_buf *out)
{
    read_output(arg, id, "boot.log", out);
}

static void read_log(void *arg, const char *uid, struct rb_buf *out)
{
    read_output(arg, uid, "log", out);
}

static bool start_pods(struct server *s, struct rb_err *err)
{
    const struct rb_pods_config c = {.directory = s->nodes_dir,
                                     .path = host_path(s),
                                     .speed = s->config->speed,
                                     .keep_logs = s->config->state_dir != NULL};
    if (s->config->k8s_port < 0)
        return true;
    if (!s->cloud_config.kubernetes.name)
        return rb_err_set(err, RB_E_MOCK_CLOUD,
                          "--k8s: the cloud file has no machines for a cluster; add rows of k8s/NAME to its price list "
                          "and an entry of `provisioning` for k8s");
    if (!rb_mock_certificate_make(&s->arena, &s->certificate, err) || !rb_pods_create(&c, &s->pods, err))
        return false;
    s->k8s = rb_mock_k8s_create(s->cloud, s->config->keys.keys[0].secret_key);
    rb_mock_k8s_set_log(s->k8s, read_log, s);
    s->streams = rb_exec_streams_create(s->pods);
    s->control.k8s = s->k8s;
    s->control.pods = s->pods;
    return true;
}

static void start_cloud(struct server *s)
{
    s->start_unix_us = rb_clock_unix_us();
    s->start_monotonic_us = rb_clock_monotonic_us();
    s->cloud_config.epoch_us = s->start_unix_us;
    s->cloud = rb_cloud_create(&s->cloud_config);
    s->ec2 = (struct rb_mock_ec2){.cloud = s->cloud, .keys = s->config->keys};
    s->gcp = rb_mock_gcp_create(s->cloud, s->config->account, s->config->gcp_token);
    rb_mock_gcp_set_console(s->gcp, read_console, s);
    s->control = (struct rb_mock_control){.cloud = s->cloud, .nodes = s->nodes, .gcp = s->gcp, .nodes_dir = s->nodes_dir};
    uint8_t secret[16];
    rb_random_bytes(secret, sizeof secret);
    rb_digest_hex(secret, sizeof secret, s->control.metadata_secret);
    s->ledger_version = UINT64_MAX; // an empty ledger is worth a file too
}

static bool catch_signals(struct server *s, struct rb_err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, &s->old_signals);
    signal(SIGPIPE, SIG_IGN);
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
    return s->signal_fd >= 0 || rb_err_set(err, RB_E_MOCK_SYSTEM, "signalfd: %s", strerror(errno));
}

static bool start(struct server *s, struct rb_err *err)
{
    if (!catch_signals(s, err) || !make_dirs(s, err) || !start_nodes(s, err))
        return false;
    start_cloud(s);
    return start_pods(s, err) && start_http(s, err);
}

// The first region that sells machines of EC2, NULL: none does.
static const char *first_region(const struct rb_cloud *cloud)
{
    const struct rb_cloud_regions *all = rb_cloud_regions(cloud);
    for (int k = 0; k < all->n; k++)
        if (!all->regions[k].is_gcp)
            return all->regions[k].name;
    return NULL;
}

// What a kubelet would put into pods that have an account: the front's one token.
static bool write_account(struct server *s, struct rb_err *err)
{
    const struct {
        const char *name, *text;
    } files[] = {{"token", s->config->keys.keys[0].secret_key},
                 {"ca.crt", s->certificate.certificate},
                 {"namespace", s->cloud_config.kubernetes.space}};
    const char *dir = rb_arena_printf(&s->arena, "%s/service-account", s->nodes_dir);
    if (!s->k8s)
        return true;
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot make %s: %s", dir, strerror(errno));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!rb_write_file(rb_arena_printf(&s->arena, "%s/%s", dir, files[i].name), files[i].text, strlen(files[i].text), err))
            return false;
    rb_mock_k8s_set_account(s->k8s, dir, rb_tls_relay_port(s->relay));
    return true;
}

static bool announce(struct server *s, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf lines = RB_BUF_INIT;
    char ec2_url[64], gcp_url[64], k8s_url[64], tls_url[64], metadata_url[128];
    const struct passwd *me = getpwuid(getuid());
    snprintf(ec2_url, sizeof ec2_url, "http://127.0.0.1:%d", s->doors[FRONT_EC2].port);
    snprintf(gcp_url, sizeof gcp_url, "http://127.0.0.1:%d", s->doors[FRONT_GCP].port);
    snprintf(k8s_url, sizeof k8s_url, "http://127.0.0.1:%d", s->doors[FRONT_K8S].port);
    snprintf(tls_url, sizeof tls_url, "https://127.0.0.1:%d", s->relay ? rb_tls_relay_port(s->relay) : 0);
    snprintf(metadata_url, sizeof metadata_url, "%s" RB_MOCK_CONTROL_PREFIX "metadata", ec2_url);
    rb_nodes_serve_metadata(s->nodes, metadata_url, s->control.metadata_secret);
    const struct rb_mock_passport passport = {.dir = s->keys_dir,
                                              .key = &s->config->keys.keys[0],
                                              .account = s->config->account,
                                              .account_path = s->config->credentials_out,
                                              .ec2_url = ec2_url,
                                              .gcp_url = gcp_url,
                                              .k8s_url = s->k8s ? k8s_url : NULL,
                                              .k8s_tls_url = tls_url,
                                              .cluster = s->cloud_config.kubernetes.name,
                                              .authority =
                                                  s->k8s ? rb_mock_certificate_base64(s->certificate.certificate, &s->arena)
                                                         : NULL,
                                              .space = s->cloud_config.kubernetes.space,
                                              .region = first_region(s->cloud),
                                              .user = me ? me->pw_name : "root"};
    rb_buf_printf(&lines, "ready ec2=%s gcp=%s%s%s\n", ec2_url, gcp_url, s->k8s ? " k8s=" : "", s->k8s ? k8s_url : "");
    if (!rb_mock_passport_write(&passport, &lines, err))
        return false;
    fputs(rb_buf_str(&lines), stdout);
    fflush(stdout);
    return true;
}

static void finish(struct server *s)
{
    stop_http(s);
    rb_nodes_destroy(s->nodes);
    rb_pods_destroy(s->pods);
    if (s->cloud)
        keep_ledger(s, true);
    rb_mock_gcp_destroy(s->gcp);
    rb_mock_k8s_destroy(s->k8s);
    rb_cloud_destroy(s->cloud);
    if (s->keys_dir)
        rb_mock_passport_remove(s->keys_dir);
    if (s->owns_dir)
        rmdir(s->nodes_dir);
    if (s->signal_fd >= 0)
        close(s->signal_fd);
    sigprocmask(SIG_SETMASK, &s->old_signals, NULL);
    rb_arena_finish(&s->arena);
}

bool rb_mock_server_run(const struct rb_mock_server_config *config, struct rb_err *err)
{
    struct server s = {.config = config, .cloud_config = config->cloud, .signal_fd = -1};
    rb_arena_init(&s.arena);
    bool ok = start(&s, err) && write_account(&s, err) && announce(&s, err) && serve(&s, err);
    finish(&s);
    return ok;
}
