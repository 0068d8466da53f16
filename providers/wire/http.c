// libcurl's multi interface driven by the loop: curl says which sockets and which timeout it waits for, the loop
// reports it what happened. Refuses whatever is not https, except http to loopback; has no switch that turns
// verification off.
#include "providers/wire/http.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/errors/full.h"
#include "base/limits.h"
#include "base/silence.h"
#include "base/text/units.h"
#include "providers/wire/http_tls.h"
#include "providers/wire/http_url.h"

#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define DEFAULT_CONNECT_TIMEOUT_US INT64_C(3100000) // as the AWS SDKs: one lost SYN and its first retransmission
#define DEFAULT_TIMEOUT_US         INT64_C(30000000)
#define DRIP_BYTES_PER_S           1000 // a body that takes longer than a sixth of its timeout comes at this rate, or is given up
#define MAX_DATE_S                 INT64_C(253402300799) // the end of the year 9999
#define MAX_CONNECTIONS            32L // a listing and a burst of launches; more would only be throttled

struct transfer {
    struct rb_http *http;
    struct transfer *previous, *next;
    struct rb_silence answer; // curl's own time-out would end what was answered while this process was stopped
    CURL *easy;
    CURLU *url;
    struct curl_slist *headers, *connect_to;
    char *request_body;
    size_t request_len;
    struct rb_buf body;
    char retry_after[64], date[64], metadata_flavor[16], challenge[512], content_digest[80]; // "": not sent
    int64_t timeout_us;
    int64_t body_since_us; // the first byte of the body came, attended time; meaningless while there is none
    bool metadata, oversize, drips;
    char reason[CURL_ERROR_SIZE];
    int full; // the errno for which there is no socket
    rb_http_fn *fn;
    void (*heard)(void *arg, const char *bytes, size_t n);
    void *arg;
};

struct rb_http {
    const struct rb_loop *loop;
    CURLM *multi;
    const char *ca_file; // NULL: the system's
    uint64_t timer;      // 0: none
    struct transfer *transfers;
    bool delivering;
};

static void deliver_finished(struct rb_http *h);

static void on_timeout(void *arg)
{
    struct rb_http *h = arg;
    int n_running;
    h->timer = 0;
    curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &n_running);
    deliver_finished(h);
}

static void on_ready(void *arg, int fd, int ready)
{
    struct rb_http *h = arg;
    int n_running;
    const int bits = (ready & RB_LOOP_READ ? CURL_CSELECT_IN : 0) | (ready & RB_LOOP_WRITE ? CURL_CSELECT_OUT : 0);
    curl_multi_socket_action(h->multi, fd, bits, &n_running);
    deliver_finished(h);
}

static int set_timeout(CURLM *multi, long timeout_ms, void *arg)
{
    (void)multi;
    struct rb_http *h = arg;
    if (h->timer)
        h->loop->timer_cancel(h->loop->ctx, h->timer);
    h->timer = timeout_ms < 0 ? 0 : h->loop->timer_start(h->loop->ctx, (int64_t)timeout_ms * 1000, on_timeout, h);
    return 0;
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    (void)easy, (void)socket_arg;
    struct rb_http *h = arg;
    int events = 0;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        events |= RB_LOOP_READ;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        events |= RB_LOOP_WRITE;
    h->loop->watch(h->loop->ctx, fd, events, on_ready, h);
    return 0;
}

// Byte by byte, a peer could hold a call for as long as its timeout, again in every retry.
static bool drips(struct transfer *t)
{
    const int64_t now_us = rb_attended_us(t->http->loop);
    if (t->body.len == 0)
        t->body_since_us = now_us;
    const int64_t took_us = now_us - t->body_since_us;
    return took_us > t->timeout_us / 6 && (int64_t)t->body.len < took_us * DRIP_BYTES_PER_S / RB_US_PER_S;
}

static void on_late(void *arg);

// Else libcurl blames the network for what this machine lacks.
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct transfer *t = arg;
    (void)purpose;
    const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    t->full = fd < 0 && rb_is_full(errno) ? errno : 0;
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *arg)
{
    struct transfer *t = arg;
    n *= size;
    if (t->heard) {
        rb_silence_begin(&t->answer, t->http->loop, t->timeout_us, on_late, t);
        t->heard(t->arg, bytes, n);
        return n;
    }
    t->oversize = n > RB_LIMIT_HTTP_BYTES - t->body.len;
    t->drips = drips(t);
    if (t->oversize || t->drips)
        return 0; // not n: curl ends the transfer
    rb_buf_append(&t->body, bytes, n);
    return n;
}

// Copies the value if the line is that header; one longer than its array is no date and no delay: ignored.
static void keep_header(const char *line, size_t n, const char *name, char *out, size_t size)
{
    const size_t name_len = strlen(name);
    if (n <= name_len || strncasecmp(line, name, name_len) != 0 || line[name_len] != ':')
        return;
    const char *value = line + name_len + 1, *end = line + n;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && strchr(" \t\r\n", end[-1]))
        end--;
    if ((size_t)(end - value) >= size)
        return;
    memcpy(out, value, (size_t)(end - value));
    out[end - value] = '\0';
}

static size_t on_header(char *bytes, size_t size, size_t n, void *arg)
{
    struct transfer *t = arg;
    n *= size;
    if (n >= 5 && memcmp(bytes, "HTTP/", 5) == 0) // a new answer: forget the headers of an interim one
        t->retry_after[0] = t->date[0] = t->metadata_flavor[0] = t->challenge[0] = t->content_digest[0] = '\0';
    keep_header(bytes, n, "Retry-After", t->retry_after, sizeof t->retry_after);
    keep_header(bytes, n, "Date", t->date, sizeof t->date);
    keep_header(bytes, n, "WWW-Authenticate", t->challenge, sizeof t->challenge);
    keep_header(bytes, n, "Docker-Content-Digest", t->content_digest, sizeof t->content_digest);
    keep_header(bytes, n, "Metadata-Flavor", t->metadata_flavor, sizeof t->metadata_flavor);
    return n;
}

// Frees everything; what may have held a secret (signature, token, user-data) is wiped first.
static void transfer_destroy(struct transfer *t)
{
    rb_silence_end(&t->answer);
    if (t->easy)
        curl_easy_cleanup(t->easy);
    for (struct curl_slist *s = t->headers; s; s = s->next)
        explicit_bzero(s->data, strlen(s->data));
    curl_slist_free_all(t->headers);
    curl_slist_free_all(t->connect_to);
    curl_url_cleanup(t->url);
    if (t->request_body)
        explicit_bzero(t->request_body, t->request_len);
    free(t->request_body);
    if (t->body.data)
        explicit_bzero(t->body.data, t->body.len);
    rb_buf_finish(&t->body);
    free(t);
}

static void link_transfer(struct rb_http *h, struct transfer *t)
{
    t->next = h->transfers;
    if (t->next)
        t->next->previous = t;
    h->transfers = t;
}

static void unlink_transfer(struct rb_http *h, struct transfer *t)
{
    curl_multi_remove_handle(h->multi, t->easy);
    if (t->next)
        t->next->previous = t->previous;
    *(t->previous ? &t->previous->next : &h->transfers) = t->next;
}

// Connected and ready to write means that it is unknown how much of the request got out.
static bool may_have_been_sent(CURL *easy)
{
    curl_off_t pretransfer_us = 0;
    long request_bytes = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &pretransfer_us);
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    return pretransfer_us > 0 || request_bytes > 0;
}

static const char *reason_of(const struct transfer *t, CURLcode result)
{
    if (result == CURLE_OK)
        return NULL;
    if (t->full)
        return t->full == EMFILE ? "this process may open no more files (ulimit -n)"
                                 : "this machine has no room for a connection";
    if (t->oversize)
        return "answer larger than RB_LIMIT_HTTP_BYTES";
    if (t->drips)
        return "the answer comes too slowly: less than 1 kB/s";
    return t->reason[0] ? t->reason : curl_easy_strerror(result);
}

// An answer that broke off is no answer: its status line says nothing about a body that is not there.
static void deliver(struct transfer *t, CURLcode result)
{
    struct rb_http_response response = {
        .body = "",
        .retry_after = t->retry_after[0] ? t->retry_after : NULL,
        .date = t->date[0] ? t->date : NULL,
        .metadata_flavor = t->metadata_flavor[0] ? t->metadata_flavor : NULL,
        .challenge = t->challenge[0] ? t->challenge : NULL,
        .content_digest = t->content_digest[0] ? t->content_digest : NULL,
        .sent = may_have_been_sent(t->easy),
        .transport_error = reason_of(t, result),
    };
    if (result == CURLE_OK) {
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &response.status);
        response.body = rb_buf_str(&t->body);
        response.body_len = t->body.len;
    }
    t->fn(t->arg, &response);
}

static void end_transfer(struct transfer *t, CURLcode result)
{
    struct rb_http *h = t->http;
    unlink_transfer(h, t);
    h->delivering = true;
    deliver(t, result);
    h->delivering = false;
    transfer_destroy(t);
}

static void on_late(void *arg)
{
    struct transfer *t = arg;
    char patience[32];
    snprintf(t->reason, sizeof t->reason, "timed out: no %sanswer within %s", t->body.len ? "whole " : "",
             rb_format_duration(t->answer.patience_us, patience));
    end_transfer(t, CURLE_OPERATION_TIMEDOUT);
}

static void deliver_finished(struct rb_http *h)
{
    int n_left;
    for (CURLMsg *message; (message = curl_multi_info_read(h->multi, &n_left));) {
        if (message->msg != CURLMSG_DONE)
            continue;
        struct transfer *t;
        const CURLcode result = message->data.result; // gone once the handle is removed
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        end_transfer(t, result);
    }
}

bool rb_http_is_loopback(const char *text)
{
    CURLU *url = rb_http_url_parse(text, NULL);
    const bool loopback = url && rb_http_url_is_loopback(url);
    curl_url_cleanup(url);
    return loopback;
}

static bool check_headers(const struct rb_http_request *r, struct rb_err *err)
{
    for (int i = 0; i < r->n_headers; i++)
        if (strpbrk(r->headers[i], "\r\n") || !strchr(r->headers[i], ':'))
            return rb_err_set(err, RB_E_HTTP_REQUEST, "HTTP header %d: expected one line 'Name: value'", i + 1);
    return true;
}

static void append_header(struct transfer *t, const char *line)
{
    struct curl_slist *longer = curl_slist_append(t->headers, line);
    if (!longer)
        abort(); // out of memory, as everywhere
    t->headers = longer;
}

static void copy_request(struct transfer *t, const struct rb_http_request *r)
{
    for (int i = 0; i < r->n_headers; i++)
        append_header(t, r->headers[i]);
    append_header(t, "Expect:"); // no 100-continue: it costs a round trip and not every peer answers it
    t->request_len = r->body_len;
    t->request_body = rb_xcalloc(r->body_len + 1, 1);
    if (r->body_len)
        memcpy(t->request_body, r->body, r->body_len);
}

static void set_method(const struct transfer *t, const char *method)
{
    if (strcmp(method, "POST") == 0 || t->request_len > 0) {
        curl_easy_setopt(t->easy, CURLOPT_POST, 1L);
        curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->request_body);
        curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->request_len);
    }
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(t->easy, CURLOPT_NOBODY, 1L);
    else if (strcmp(method, "POST") != 0 && strcmp(method, "GET") != 0)
        curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, method);
}

static bool set_protection(const struct rb_http *h, struct transfer *t, const struct rb_http_peer *peer,
                           struct rb_err *err)
{
    const bool here = t->metadata || rb_http_url_is_loopback(t->url);
    return rb_http_set_peer(t->easy, t->url, peer, &t->connect_to, err) &&
           rb_http_protect(t->easy, here, peer && peer->ca_pem ? NULL : h->ca_file, err);
}

static long milliseconds(int64_t us)
{
    const int64_t ms = (us + 999) / 1000;
    return ms < INT_MAX ? (long)ms : INT_MAX;
}

static bool set_options(const struct rb_http *h, struct transfer *t, const struct rb_http_request *r,
                        struct rb_err *err)
{
    curl_easy_setopt(t->easy, CURLOPT_CURLU, t->url);
    curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
    curl_easy_setopt(t->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS,
                     milliseconds(r->connect_timeout_us > 0 ? r->connect_timeout_us : DEFAULT_CONNECT_TIMEOUT_US));
    curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->reason);
    curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
    curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT, r->once ? 1L : 0L);
    if (r->unix_socket)
        curl_easy_setopt(t->easy, CURLOPT_UNIX_SOCKET_PATH, r->unix_socket);
    set_method(t, r->method);
    return set_protection(h, t, r->peer, err);
}

bool rb_http_send(struct rb_http *h, const struct rb_http_request *r, rb_http_fn *fn, void *arg, struct rb_err *err)
{
    struct transfer *t = rb_xcalloc(1, sizeof *t);
    t->http = h;
    t->timeout_us = r->timeout_us > 0 ? r->timeout_us : DEFAULT_TIMEOUT_US;
    t->fn = fn;
    t->heard = r->heard;
    t->arg = arg;
    t->metadata = r->metadata;
    t->url = r->metadata ? rb_http_url_parse_metadata(r->url, err) : rb_http_url_parse(r->url, err);
    if (!t->url || !check_headers(r, err)) {
        transfer_destroy(t);
        return false;
    }
    copy_request(t, r);
    t->easy = curl_easy_init();
    if (!t->easy || !set_options(h, t, r, err)) {
        if (!t->easy)
            rb_err_set(err, RB_E_HTTP_LIBRARY, "libcurl refuses to start a transfer: out of memory?");
        transfer_destroy(t);
        return false;
    }
    const CURLMcode rc = curl_multi_add_handle(h->multi, t->easy);
    if (rc != CURLM_OK) {
        transfer_destroy(t);
        return rb_err_set(err, RB_E_HTTP_LIBRARY, "libcurl: %s", curl_multi_strerror(rc));
    }
    link_transfer(h, t);
    rb_silence_begin(&t->answer, h->loop, t->timeout_us, on_late, t);
    return true;
}

void rb_http_cancel(struct rb_http *h, const void *arg)
{
    for (struct transfer *t = h->transfers, *next; t; t = next) {
        next = t->next;
        if (t->arg != arg)
            continue;
        unlink_transfer(h, t);
        transfer_destroy(t);
    }
}

int64_t rb_http_retry_after_us(const struct rb_http_response *response, int64_t unix_us)
{
    if (!response->retry_after)
        return -1;
    char *end;
    errno = 0;
    const long long seconds = strtoll(response->retry_after, &end, 10);
    if (*end == '\0' && end != response->retry_after && errno == 0 && seconds >= 0 && seconds <= INT_MAX)
        return seconds * RB_US_PER_S;
    const time_t at = curl_getdate(response->retry_after, NULL);
    if (at == (time_t)-1)
        return -1;
    const int64_t wait_s = (int64_t)at - unix_us / RB_US_PER_S;
    return wait_s <= 0 ? 0 : (wait_s < INT_MAX ? wait_s : INT_MAX) * RB_US_PER_S;
}

int64_t rb_http_date_us(const struct rb_http_response *response)
{
    const time_t at = response->date ? curl_getdate(response->date, NULL) : (time_t)-1;
    return at < 0 || at > MAX_DATE_S ? -1 : (int64_t)at * RB_US_PER_S;
}

// The AWS tools' variable first, then OpenSSL's, which libcurl as a library does not read by itself.
static const char *ca_file(void)
{
    const char *file = getenv("AWS_CA_BUNDLE");
    if (!file || !*file)
        file = getenv("SSL_CERT_FILE");
    return file && *file ? file : NULL;
}

bool rb_http_create(const struct rb_loop *loop, struct rb_http **out, struct rb_err *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return rb_err_set(err, RB_E_HTTP_LIBRARY, "libcurl does not start");
    CURLM *multi = curl_multi_init();
    if (!multi) {
        curl_global_cleanup();
        return rb_err_set(err, RB_E_HTTP_LIBRARY, "libcurl does not start: out of memory?");
    }
    struct rb_http *h = rb_xcalloc(1, sizeof *h);
    h->loop = loop;
    h->multi = multi;
    h->ca_file = ca_file();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, h);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timeout);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, h);
    curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, MAX_CONNECTIONS);
    *out = h;
    return true;
}

void rb_http_destroy(struct rb_http *h)
{
    if (!h)
        return;
    assert(!h->delivering); // a callback may not saw off the branch it sits on
    while (h->transfers) {
        struct transfer *t = h->transfers;
        unlink_transfer(h, t);
        transfer_destroy(t);
    }
    curl_multi_cleanup(h->multi);
    if (h->timer)
        h->loop->timer_cancel(h->loop->ctx, h->timer);
    free(h);
    curl_global_cleanup();
}
