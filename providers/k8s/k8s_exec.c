// Source: KEP-4006 and k8s.io/kubelet/pkg/cri/streaming/remotecommand. The first byte of a binary message is its channel.
// libcurl does TLS, certificates and proxies; its own WebSocket is not in every build.
#include "providers/k8s/k8s_decode.h"
#include "providers/k8s/k8s_exec.h"

#include "base/clock.h"
#include "base/document/doc.h"
#include "base/text/buf.h"
#include "base/text/units.h"
#include "providers/k8s/k8s_door.h"
#include "providers/k8s/k8s_encode.h"
#include "providers/k8s/websocket.h"
#include "providers/wire/digest.h"
#include "providers/wire/http_tls.h"
#include "providers/wire/http_url.h"
#include "providers/wire/percent.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TO_STDIN,
    FROM_STDOUT,
    FROM_STDERR,
    FROM_STATUS, // channels
    UNREACHABLE = 255,
    CHUNK = 32 << 10,
    MAX_PIPED = 64 << 20, // of a pipe, which is read to its end first
    OPENING_TIMEOUT_S = 20,
};
static const int64_t ping_us = 5 * RB_US_PER_S;     // balancers cut what is idle for 20 s
static const int64_t silence_us = 25 * RB_US_PER_S; // of a peer that has answered pings before

// What runs in the pod: $1 bytes of our input go to the command $2, then the connection is watched, because the end of a
// client ends nothing there. v4 cannot close stdin, and v5 must not: its end is what is watched for.
// $3: the pod's uid, which is also in its environment. In a pod without it nothing is done.
static const char wrapper[] =
    "[ \"${RB_POD_UID-}\" = \"$3\" ] || { echo 'another pod has this name now' >&2; exit 255; }\n"
    "umask 077; cd \"$HOME\" || exit 1; exec 3<&0; d=$(mktemp -d ./.in.XXXXXX) && mkfifo \"$d/in\" || exit 1\n"
    "sh -c \"$2\" <\"$d/in\" 3<&- & c=$!\n"
    "head -c \"$1\" <&3 >\"$d/in\"; rm -rf \"$d\"\n"
    "{ trap 'kill $k; exit' TERM; cat <&3 & k=$!; wait $k; kill $c; } >/dev/null 2>&1 & g=$!\n"
    "wait $c; code=$?; exec 3<&-; kill $g 2>/dev/null; exit $code";

struct session {
    const struct rb_kube_exec *e;
    char pod[64], uid[64];
    struct rb_kube_key key;
    CURL *easy;
    struct curl_slist *connect_to;
    int fd; // the connection's
    struct rb_ws_opening opening;
    struct rb_ws_reader reader;
    struct rb_buf out;        // to be sent
    size_t sent;              // of it
    struct rb_buf input;      // of a pipe
    int64_t n_input, n_given; // bytes that the command gets, and that are in `out` or sent
    bool from_file;
    int64_t heard_us, pinged_us;
    bool has_ponged, is_over;
    int code; // the command's; -1: not known yet
    struct rb_err err;
};

static int64_t now_us(void)
{
    return rb_clock_monotonic_us();
}

// --- the input: its length stands in the request

static bool measure_input(struct session *s)
{
    struct stat st;
    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode)) {
        const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
        s->from_file = true;
        s->n_input = at >= 0 && st.st_size > at ? st.st_size - at : 0;
        return true;
    }
    char chunk[CHUNK];
    for (;;) {
        const ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        rb_buf_append(&s->input, chunk, (size_t)n);
        if (s->input.len > MAX_PIPED)
            return rb_err_set(&s->err, RB_E_K8S_LAUNCH, "more than %d bytes of input from a pipe", MAX_PIPED);
    }
    explicit_bzero(chunk, sizeof chunk);
    s->n_input = (int64_t)s->input.len;
    return true;
}

static void queue_frame(struct session *s, enum rb_ws_opcode opcode, const void *bytes, size_t n)
{
    uint8_t mask[4];
    rb_random_bytes(mask, sizeof mask);
    rb_ws_write_frame(opcode, bytes, n, mask, &s->out);
}

// False: the file became shorter than it was.
static bool queue_input(struct session *s)
{
    char chunk[1 + CHUNK] = {TO_STDIN};
    const int64_t left = s->n_input - s->n_given;
    size_t n = left < CHUNK ? (size_t)left : CHUNK;
    if (s->from_file) {
        const ssize_t got = read(STDIN_FILENO, chunk + 1, n);
        if (got <= 0)
            return rb_err_set(&s->err, RB_E_FILE_READ, "the input became shorter while it was sent");
        n = (size_t)got;
    } else {
        memcpy(chunk + 1, s->input.data + s->n_given, n);
    }
    queue_frame(s, RB_WS_BINARY, chunk, 1 + n);
    s->n_given += (int64_t)n;
    explicit_bzero(chunk, sizeof chunk);
    return true;
}

// --- the connection

// What curl says of a failed connection is not ssh's words, which people would be given advice on.
static bool connect_to(struct session *s)
{
    CURLU *url = rb_http_url_parse(s->key.server, &s->err);
    if (!url)
        return false;
    const bool local = rb_http_url_is_loopback(url);
    curl_easy_setopt(s->easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(s->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(s->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(s->easy, CURLOPT_SSL_ENABLE_ALPN, 0L); // a server that prefers HTTP/2 would speak it
    curl_easy_setopt(s->easy, CURLOPT_CONNECTTIMEOUT, 10L);
    bool ok = rb_http_set_peer(s->easy, url, &s->key.peer, &s->connect_to, &s->err) &&
              rb_http_protect(s->easy, local, NULL, &s->err);
    curl_easy_setopt(s->easy, CURLOPT_CURLU, url);
    const CURLcode rc = ok ? curl_easy_perform(s->easy) : CURLE_OK;
    if (rc != CURLE_OK)
        ok = rb_err_set(&s->err, RB_E_UNREACHABLE, "%s: %s", s->key.server, curl_easy_strerror(rc));
    curl_url_cleanup(url);
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (ok && (curl_easy_getinfo(s->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd == CURL_SOCKET_BAD))
        ok = rb_err_set(&s->err, RB_E_UNREACHABLE, "%s: no connection", s->key.server);
    s->fd = fd;
    return ok;
}

// False: the connection is broken. What cannot be sent now stays.
static bool send_some(struct session *s)
{
    while (s->sent < s->out.len) {
        size_t n = 0;
        const CURLcode rc = curl_easy_send(s->easy, s->out.data + s->sent, s->out.len - s->sent, &n);
        if (rc == CURLE_AGAIN)
            return true;
        if (rc != CURLE_OK)
            return rb_err_set(&s->err, RB_E_UNREACHABLE, "the connection broke: %s", curl_easy_strerror(rc));
        s->sent += n;
    }
    if (s->out.data)
        explicit_bzero(s->out.data, s->out.len);
    rb_buf_clear(&s->out);
    s->sent = 0;
    return true;
}

static bool wait_for(const struct session *s, short events, int64_t until_us)
{
    // The other end of our own output is watched, too: without rbrun no one needs the command.
    struct pollfd p[2] = {{.fd = s->fd, .events = events}, {.fd = STDOUT_FILENO}};
    const int64_t left_us = until_us - now_us();
    const int n = poll(p, 2, left_us > 0 ? (int)(left_us / 1000) + 1 : 0);
    return n >= 0 ? !(p[1].revents & (POLLERR | POLLNVAL)) : errno == EINTR;
}

// --- the opening

static void write_opening(struct session *s, struct rb_buf *authorization)
{
    RB_AUTO(rb_buf_finish) struct rb_buf target = RB_BUF_INIT, host = RB_BUF_INIT;
    char length[32];
    const char *origin = strstr(s->key.server, "://") + 3, *path = strchr(origin, '/');
    snprintf(length, sizeof length, "%lld", (long long)s->n_input);
    rb_buf_puts(&target, path ? path : "");
    rb_percent_put(
        &target,
        "/api/v1/namespaces/%s/pods/%s/exec?container=%s&stdin=true&stdout=true&stderr=true&command=sh&command=-c"
        "&command=%s&command=rb&command=%s&command=%s&command=%s",
        s->key.namespace, s->pod, RB_KUBE_CONTAINER, wrapper, length, s->e->remote, s->uid);
    rb_buf_append(&host, origin, path ? (size_t)(path - origin) : strlen(origin));
    if (s->key.token)
        rb_buf_printf(authorization, "Bearer %s", s->key.token);
    s->opening = (struct rb_ws_opening){.target = rb_buf_str(&target),
                                        .host = rb_buf_str(&host),
                                        .protocols = "v5.channel.k8s.io, v4.channel.k8s.io",
                                        .authorization = authorization->data};
    rb_random_bytes(s->opening.key, sizeof s->opening.key);
    rb_ws_write_opening(&s->opening, &s->out);
    s->opening.target = s->opening.host = s->opening.authorization = NULL; // they end here
}

static void take_message(void *arg, enum rb_ws_opcode opcode, const uint8_t *bytes, size_t n);

// The words of a refusal, if its body has come as well.
static void quote_refusal(struct session *s, const struct rb_buf *answer, long status)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    const char *body = memmem(answer->data, answer->len, "\r\n\r\n", 4);
    if (body && rb_doc_parse_json(&doc, "answer", body + 4, answer->len - (size_t)(body + 4 - answer->data), NULL))
        rb_err_set(&s->err, RB_E_ANSWER, "status %ld: %.300s", status, rb_node_member_text(doc.root, "message"));
}

// *out_status: of the refusal, 0: there was none.
static bool open_stream(struct session *s, long *out_status)
{
    struct rb_buf authorization = RB_BUF_INIT, in = RB_BUF_INIT;
    const int64_t until_us = now_us() + OPENING_TIMEOUT_S * RB_US_PER_S;
    enum rb_ws_answer is = RB_WS_MORE;
    char protocol[32] = "";
    size_t head = 0;
    bool ok = true;
    *out_status = 0;
    write_opening(s, &authorization);
    while (ok && is == RB_WS_MORE) {
        char chunk[4096];
        size_t n = 0;
        ok = send_some(s);
        const CURLcode rc = ok ? curl_easy_recv(s->easy, chunk, sizeof chunk, &n) : CURLE_OK;
        if (rc == CURLE_OK && n > 0) {
            rb_buf_append(&in, chunk, n);
            is = rb_ws_read_answer(&s->opening, in.data, in.len, &head, protocol, out_status, &s->err);
        } else if (ok && rc != CURLE_AGAIN) {
            ok = rb_err_set(&s->err, RB_E_UNREACHABLE, "the connection ended before an answer came");
        } else if (ok && (now_us() >= until_us || !wait_for(s, s->out.len ? POLLIN | POLLOUT : POLLIN, until_us))) {
            ok = rb_err_set(&s->err, RB_E_UNREACHABLE, "no answer within %d s", OPENING_TIMEOUT_S);
        }
    }
    if (is == RB_WS_REFUSED)
        quote_refusal(s, &in, *out_status);
    ok = ok && is == RB_WS_OPEN;
    if (ok && strcmp(protocol, "v5.channel.k8s.io") != 0 && strcmp(protocol, "v4.channel.k8s.io") != 0)
        ok =
            rb_err_set(&s->err, RB_E_ANSWER, "the server speaks \"%.31s\", expected v5 or v4.channel.k8s.io", protocol);
    ok = ok && rb_ws_read(&s->reader, in.data + head, in.len - head, take_message, s, &s->err);
    if (authorization.data)
        explicit_bzero(authorization.data, authorization.len);
    rb_buf_finish(&authorization);
    rb_buf_finish(&in);
    return ok;
}

// --- what comes

static void pass_on(struct session *s, int fd, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            s->is_over = true; // no one reads
            rb_err_set(&s->err, RB_E_FILE_WRITE, "cannot pass the output on: %s", strerror(errno));
            return;
        }
        bytes += written;
        n -= (size_t)written;
    }
}

// "Success", or why not; a command that ended with another code than 0 has it in the causes.
static void take_status(struct session *s, const uint8_t *bytes, size_t n)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "status", (const char *)bytes, n, &s->err))
        return;
    if (strcmp(rb_node_member_text(doc.root, "status"), "Success") == 0) {
        s->code = 0;
        return;
    }
    const struct rb_node *causes = rb_node_member(rb_node_member(doc.root, "details"), "causes");
    for (const struct rb_node *c = rb_node_first(causes); c; c = c->next)
        if (strcmp(rb_node_member_text(c, "reason"), "ExitCode") == 0)
            s->code = atoi(rb_node_member_text(c, "message")) & 255;
    if (s->code < 0)
        rb_err_set(&s->err, RB_E_UNREACHABLE, "%.300s", rb_node_member_text(doc.root, "message"));
}

static void take_message(void *arg, enum rb_ws_opcode opcode, const uint8_t *bytes, size_t n)
{
    struct session *s = arg;
    if (opcode == RB_WS_PING)
        queue_frame(s, RB_WS_PONG, bytes, n);
    s->has_ponged = s->has_ponged || opcode == RB_WS_PONG;
    s->is_over = s->is_over || opcode == RB_WS_CLOSE;
    if (opcode != RB_WS_BINARY || n < 1)
        return;
    switch (bytes[0]) {
    case FROM_STDOUT:
        pass_on(s, STDOUT_FILENO, bytes + 1, n - 1);
        break;
    case FROM_STDERR:
        pass_on(s, STDERR_FILENO, bytes + 1, n - 1);
        break;
    case FROM_STATUS:
        take_status(s, bytes + 1, n - 1);
        break;
    }
}

static bool receive_some(struct session *s)
{
    char chunk[CHUNK];
    for (;;) {
        size_t n = 0;
        const CURLcode rc = curl_easy_recv(s->easy, chunk, sizeof chunk, &n);
        if (rc == CURLE_AGAIN)
            return true;
        if (rc != CURLE_OK || n == 0) {
            s->is_over = true;
            return s->code >= 0 || s->err.code ||
                   rb_err_set(&s->err, RB_E_UNREACHABLE, "the connection ended before the command did");
        }
        s->heard_us = now_us();
        if (!rb_ws_read(&s->reader, chunk, n, take_message, s, &s->err))
            return false;
    }
}

static bool keep_alive(struct session *s)
{
    const int64_t now = now_us();
    if (s->has_ponged && now - s->heard_us > silence_us)
        return rb_err_set(&s->err, RB_E_UNREACHABLE, "the node has been silent for %d s",
                          (int)(silence_us / RB_US_PER_S));
    if (now - s->pinged_us >= ping_us) {
        queue_frame(s, RB_WS_PING, "", 0);
        s->pinged_us = now;
    }
    return true;
}

static bool converse(struct session *s)
{
    s->heard_us = s->pinged_us = now_us();
    while (!s->is_over && s->code < 0) {
        if (s->out.len == 0 && s->n_given < s->n_input && !queue_input(s))
            return false;
        if (!keep_alive(s) || !send_some(s) || !receive_some(s))
            return false;
        const bool waits = !s->is_over && s->code < 0 && (s->out.len > 0 || s->n_given == s->n_input);
        if (waits && !wait_for(s, s->out.len ? POLLIN | POLLOUT : POLLIN, s->pinged_us + ping_us))
            return rb_err_set(&s->err, RB_E_UNREACHABLE, "no one reads the output any more");
    }
    return s->code >= 0;
}

// --- the whole

static bool start(struct session *s, bool was_refused, long *out_status)
{
    *out_status = 0;
    if (s->e->door ? !rb_kube_door_ask(s->e->door, s->e->name, was_refused, &s->key, &s->err)
                   : !rb_kube_door_bypass(s->e->name, s->e->spec, was_refused, &s->key, &s->err))
        return false;
    s->easy = curl_easy_init();
    return s->easy && connect_to(s) && open_stream(s, out_status);
}

static void close_session(struct session *s)
{
    if (s->easy)
        curl_easy_cleanup(s->easy);
    curl_slist_free_all(s->connect_to);
    rb_kube_key_finish(&s->key);
    rb_ws_reader_finish(&s->reader);
    rb_buf_finish(&s->out);
    s->easy = NULL;
    s->connect_to = NULL;
    s->reader = (struct rb_ws_reader){0};
    s->sent = 0;
}

int rb_kube_exec(const struct rb_kube_exec *e)
{
    struct session s = {.e = e, .code = -1, .key.fd = -1};
    long status = 0;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    bool ok = rb_kube_split_id(e->pod, s.pod, s.uid)
                  ? measure_input(&s)
                  : rb_err_set(&s.err, RB_E_UNREACHABLE, "\"%.100s\": expected the id of a pod, NAME.UID", e->pod);
    if (ok && !start(&s, false, &status)) {
        close_session(&s);
        ok = status == 401 && start(&s, true, &status);
    }
    rb_kube_door_leave(&s.key);
    ok = ok && converse(&s);
    if (!ok)
        fprintf(stderr, "%s\n", s.err.message);
    const int code = ok ? s.code : UNREACHABLE;
    close_session(&s);
    if (s.input.data)
        explicit_bzero(s.input.data, s.input.len);
    rb_buf_finish(&s.input);
    return code;
}
