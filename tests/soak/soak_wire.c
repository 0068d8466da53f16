// providers/wire/http.h once more, without sockets: a request is a value that arrives at a front after a while, or twice, or
// never. What was sent arrives whether or not anybody still waits for the answer, as after a crash.
#include "soak_cloud.h"

#include "providers/wire/http.h"
#include "providers/wire/http_url.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADERS = 16 };

#define DEFAULT_TIMEOUT_US INT64_C(30000000) // as providers/wire/http.c
#define LATE_REQUEST_US    90e6
#define LATE_ANSWER_US     60e6
#define COPY_US            8e6

struct rb_http {
    struct soak_cloud *cloud;
    struct transfer *transfers; // somebody waits for these
};

struct transfer {
    struct soak_cloud *cloud;
    struct rb_http *http; // NULL: no one waits any more
    struct transfer *next;
    int n_events; // arrivals and answers still to come; freed with the last
    uint64_t timeout;
    struct rb_arena arena;
    char *path;
    bool to_gcp;
    struct rb_exchange_request request;
    bool handled, late_answer;
    struct rb_exchange_answer answer;
    char date[32]; // of the answer; seconds since 1970: the reader sits in this file too
    rb_http_fn *fn;
    void *arg;
};

// --- draws

static bool strikes(struct soak_cloud *c, enum soak_wire_fault fault, double probability)
{
    const bool struck = rb_stream_uniform(&c->draws) < probability;
    c->n_wire_faults[fault] += struck;
    return struck;
}

static int64_t draw_us(struct soak_cloud *c, double max_us)
{
    return (int64_t)(rb_stream_uniform(&c->draws) * max_us);
}

static int64_t latency_us(struct soak_cloud *c)
{
    return 5000 + draw_us(c, 45000);
}

// --- the life of a transfer

static void release(struct transfer *t)
{
    if (t->n_events > 0 || t->http)
        return;
    rb_buf_finish(&t->answer.body);
    rb_arena_finish(&t->arena);
    free(t);
}

// What comes to a process that is stopped waits in its host until it runs again; true: it waits.
static bool wait_until_running(struct transfer *t, rb_loop_fn *fn)
{
    struct virtual_loop *v = &t->cloud->v;
    if (!t->http || !virtual_loop_is_stopped(v))
        return false;
    t->n_events++;
    v->loop.timer_start(v, v->stopped_until_us - v->now_us, fn, t);
    return true;
}

static void detach(struct transfer *t)
{
    struct transfer **at = &t->http->transfers;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->http = NULL;
    t->cloud->v.loop.timer_cancel(&t->cloud->v, t->timeout);
}

static void tell(struct transfer *t, const struct rb_http_response *r)
{
    detach(t);
    t->fn(t->arg, r);
    release(t);
}

static void fail(struct transfer *t, bool sent, const char *why)
{
    tell(t, &(struct rb_http_response){.body = "", .sent = sent, .transport_error = why});
}

static void timed_out(void *arg)
{
    fail(arg, true, "Timeout was reached");
}

static void not_connected(void *arg)
{
    struct transfer *t = arg;
    t->n_events--;
    if (wait_until_running(t, not_connected))
        return;
    if (t->http)
        fail(t, false, "Couldn't connect to server");
    else
        release(t);
}

static void read_answer(void *arg)
{
    struct transfer *t = arg;
    t->n_events--;
    if (!t->http) {
        release(t);
        return;
    }
    const bool whole = t->answer.delivery == RB_EXCHANGE_WHOLE || t->answer.delivery == RB_EXCHANGE_DRIP;
    if (!whole) {
        fail(t, true,
             t->answer.delivery == RB_EXCHANGE_CUT ? "transfer closed with outstanding read data remaining"
                                                   : "Empty reply from server");
        return;
    }
    tell(t, &(struct rb_http_response){.status = t->answer.status,
                                       .body = rb_buf_str(&t->answer.body),
                                       .body_len = t->answer.body.len,
                                       .date = t->date,
                                       .sent = true});
}

static void answered(void *arg)
{
    struct transfer *t = arg;
    if (soak_cloud_is_offline(t->cloud)) { // it is lost on the way
        t->n_events--;
        release(t);
        return;
    }
    if (wait_until_running(t, read_answer))
        t->n_events--;
    else
        read_answer(t);
}

static void ask_front(const struct transfer *t, struct rb_exchange_answer *out)
{
    struct soak_cloud *c = t->cloud;
    const int64_t now_us = soak_cloud_now_us(c);
    soak_cloud_settle(c);
    if (t->to_gcp)
        rb_mock_gcp_answer(c->gcp, &t->request, now_us, now_us, out);
    else
        rb_mock_ec2_answer(&c->ec2, &t->request, now_us, now_us, out);
    soak_cloud_settle(c);
}

static int64_t delivery_us(const struct transfer *t)
{
    int64_t us = latency_us(t->cloud);
    if (t->answer.delivery == RB_EXCHANGE_DRIP)
        us += (int64_t)t->answer.body.len * RB_US_PER_S / t->answer.bytes_per_s;
    return us + (t->late_answer ? draw_us(t->cloud, LATE_ANSWER_US) : 0);
}

static void arrived(void *arg)
{
    struct transfer *t = arg;
    struct soak_cloud *c = t->cloud;
    t->n_events--;
    c->n_requests++;
    if (t->handled) { // a copy: its answer finds no one
        struct rb_exchange_answer lost = {0};
        ask_front(t, &lost);
        rb_buf_finish(&lost.body);
        release(t);
        return;
    }
    t->handled = true;
    ask_front(t, &t->answer);
    snprintf(t->date, sizeof t->date, "%lld", (long long)((soak_cloud_now_us(c) + t->answer.skew_us) / RB_US_PER_S));
    t->n_events++;
    c->v.loop.timer_start(&c->v, delivery_us(t), answered, t);
}

static void arrive_after(struct transfer *t, int64_t us)
{
    t->n_events++;
    t->cloud->v.loop.timer_start(&t->cloud->v, us, arrived, t);
}

static void not_connected_after(struct transfer *t, int64_t us)
{
    t->n_events++;
    t->cloud->v.loop.timer_start(&t->cloud->v, us, not_connected, t);
}

static void send_off(struct transfer *t)
{
    struct soak_cloud *c = t->cloud;
    const struct soak_wire_faults *f = &c->wire;
    if (soak_cloud_is_offline(c) && strikes(c, SOAK_OFFLINE, 1)) {
        if (rb_stream_uniform(&c->draws) < 0.5) // else nothing comes back at all
            not_connected_after(t, 1000);
        return;
    }
    if (strikes(c, SOAK_REFUSED, f->refused)) {
        not_connected_after(t, 1000);
        return;
    }
    if (strikes(c, SOAK_LOST_REQUEST, f->lost_request))
        return;
    t->late_answer = strikes(c, SOAK_LATE_ANSWER, f->late_answer);
    const bool late = strikes(c, SOAK_LATE_REQUEST, f->late_request);
    arrive_after(t, latency_us(c) + (late ? draw_us(c, LATE_REQUEST_US) : 0));
    if (strikes(c, SOAK_REPEATED, f->repeated))
        arrive_after(t, latency_us(c) + draw_us(c, COPY_US));
}

// --- the request, copied

static void copy_headers(struct transfer *t, const struct rb_http_request *r, const char *host)
{
    struct rb_sigv4_header *headers = rb_arena_array(&t->arena, MAX_HEADERS, sizeof *headers);
    int n = 0;
    assert(r->n_headers < MAX_HEADERS);
    headers[n++] = (struct rb_sigv4_header){"Host", host};
    for (int i = 0; i < r->n_headers; i++) {
        char *name = rb_arena_strdup(&t->arena, r->headers[i]);
        char *value = strchr(name, ':');
        *value++ = '\0';
        value += strspn(value, " ");
        if (strcasecmp(name, "Host") != 0)
            headers[n++] = (struct rb_sigv4_header){name, value};
    }
    t->request.headers = headers;
    t->request.n_headers = n;
}

static void copy_request(struct transfer *t, const struct rb_http_request *r)
{
    char *host = rb_arena_strdup(&t->arena, r->url + strlen("http://"));
    char *slash = strchr(host, '/');
    t->path = slash ? rb_arena_strdup(&t->arena, slash) : rb_arena_strdup(&t->arena, "/");
    if (slash)
        *slash = '\0';
    char *query = strchr(t->path, '?');
    if (query)
        *query++ = '\0';
    t->to_gcp = strcmp(host, SOAK_GCP_HOST) == 0;
    assert(t->to_gcp || strcmp(host, SOAK_EC2_HOST) == 0);
    t->request = (struct rb_exchange_request){
        .method = rb_arena_strdup(&t->arena, r->method),
        .path = t->path,
        .query = query ? query : "",
        .body = rb_arena_strndup(&t->arena, r->body ? r->body : "", r->body_len),
        .body_len = r->body_len,
    };
    copy_headers(t, r, host);
}

// --- providers/wire/http.h

bool rb_http_create(const struct rb_loop *loop, struct rb_http **out, struct rb_err *err)
{
    (void)err;
    *out = rb_xcalloc(1, sizeof **out);
    (*out)->cloud = loop->ctx; // a virtual loop is the first member of its cloud
    return true;
}

void rb_http_destroy(struct rb_http *h)
{
    while (h && h->transfers) {
        struct transfer *t = h->transfers;
        detach(t);
        release(t);
    }
    free(h);
}

bool rb_http_send(struct rb_http *h, const struct rb_http_request *r, rb_http_fn *fn, void *arg, struct rb_err *err)
{
    (void)err;
    struct soak_cloud *c = h->cloud;
    struct transfer *t = rb_xcalloc(1, sizeof *t);
    rb_arena_init(&t->arena);
    t->cloud = c;
    t->http = h;
    t->fn = fn;
    t->arg = arg;
    t->next = h->transfers;
    h->transfers = t;
    copy_request(t, r);
    t->timeout = c->v.ours.timer_start(&c->v, r->timeout_us > 0 ? r->timeout_us : DEFAULT_TIMEOUT_US, timed_out, t);
    send_off(t);
    return true;
}

void rb_http_cancel(struct rb_http *h, const void *arg)
{
    for (struct transfer *t = h->transfers, *next; t; t = next) {
        next = t->next;
        if (t->arg != arg)
            continue;
        detach(t);
        release(t);
    }
}

int64_t rb_http_retry_after_us(const struct rb_http_response *response, int64_t unix_us)
{
    (void)response, (void)unix_us;
    return -1; // rbmock never says
}

int64_t rb_http_date_us(const struct rb_http_response *response)
{
    return response->date ? atoll(response->date) * RB_US_PER_S : -1;
}

bool rb_http_is_loopback(const char *text)
{
    CURLU *url = rb_http_url_parse(text, NULL);
    const bool loopback = url && rb_http_url_is_loopback(url);
    curl_url_cleanup(url);
    return loopback;
}
