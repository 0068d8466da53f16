// A dripping answer sends what its rate allows and is suspended until the next drop is due.
#include "providers/mock/cloud/delivery.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/text/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define FEED_US (100 * INT64_C(1000)) // a feed is asked again this often
#define DROP_US (50 * INT64_C(1000)) // drops are gathered, so that a fast drip does not spin

struct delivery {
    struct rb_deliveries *all;
    struct MHD_Connection *connection;
    char *body;
    size_t len, end;     // end: how far it goes; short of len: cut off there
    int64_t bytes_per_s; // 0: as fast as it goes
    int64_t start_us, next_us;
    bool suspended;
    struct rb_exchange_feed feed; // more NULL: none
    struct rb_buf fed;            // given and not yet sent
    bool feed_ended;
};

struct rb_deliveries {
    struct delivery **list; // [n], those that drip
    int n, cap;
    bool abandoned;
    rb_switch_fn *on_switch;
    void *switch_arg;
};

struct rb_deliveries *rb_deliveries_create(rb_switch_fn *on_switch, void *arg)
{
    struct rb_deliveries *d = rb_xcalloc(1, sizeof *d);
    d->on_switch = on_switch;
    d->switch_arg = arg;
    return d;
}

void rb_deliveries_destroy(struct rb_deliveries *d)
{
    if (!d)
        return;
    free(d->list);
    free(d);
}

// --- the body ---

static size_t allowed(const struct delivery *d, int64_t now_us)
{
    if (d->bytes_per_s == 0)
        return d->end;
    double bytes = (double)(now_us - d->start_us) / RB_US_PER_S * (double)d->bytes_per_s + 1;
    return bytes < (double)d->end ? (size_t)bytes : d->end;
}

static ssize_t read_body(void *arg, uint64_t position, char *out, size_t max)
{
    struct delivery *d = arg;
    int64_t now_us = rb_clock_monotonic_us();
    size_t until = allowed(d, now_us), at = (size_t)position;
    if (at >= d->end || d->all->abandoned)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (at >= until) {
        d->next_us = now_us + DROP_US;
        d->suspended = true;
        MHD_suspend_connection(d->connection);
        return 0;
    }
    size_t n = until - at < max ? until - at : max;
    memcpy(out, d->body + at, n);
    return (ssize_t)n;
}

static ssize_t read_feed(void *arg, uint64_t position, char *out, size_t max)
{
    (void)position;
    struct delivery *d = arg;
    if (d->all->abandoned)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (d->fed.len == 0 && !d->feed_ended)
        d->feed_ended = !d->feed.more(d->feed.arg, &d->fed);
    if (d->fed.len == 0 && d->feed_ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (d->fed.len == 0) {
        d->next_us = rb_clock_monotonic_us() + FEED_US;
        d->suspended = true;
        MHD_suspend_connection(d->connection);
        return 0;
    }
    const size_t n = d->fed.len < max ? d->fed.len : max;
    memcpy(out, d->fed.data, n);
    rb_buf_consume(&d->fed, n);
    return (ssize_t)n;
}

static void free_delivery(void *arg)
{
    struct delivery *d = arg;
    if (d->feed.drop)
        d->feed.drop(d->feed.arg);
    rb_buf_finish(&d->fed);
    for (int k = 0; k < d->all->n; k++)
        if (d->all->list[k] == d)
            d->all->list[k--] = d->all->list[--d->all->n];
    free(d->body);
    free(d);
}

static struct delivery *add_delivery(struct rb_deliveries *all)
{
    if (all->n == all->cap) {
        all->cap = all->cap ? 2 * all->cap : 16;
        all->list = rb_xrealloc(all->list, (size_t)all->cap, sizeof *all->list);
    }
    return all->list[all->n++] = rb_xcalloc(1, sizeof(struct delivery));
}

static struct MHD_Response *respond_on(struct rb_deliveries *all, struct MHD_Connection *connection,
                                       const struct rb_exchange_answer *a)
{
    struct delivery *d = add_delivery(all);
    *d = (struct delivery){.all = all, .connection = connection, .feed = a->feed};
    rb_buf_append(&d->fed, rb_buf_str(&a->body), a->body.len);
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_feed, d, free_delivery);
}

static struct MHD_Response *respond_slowly(struct rb_deliveries *all, struct MHD_Connection *connection,
                                           const struct rb_exchange_answer *a)
{
    struct delivery *d = add_delivery(all);
    *d = (struct delivery){.all = all,
                           .connection = connection,
                           .body = rb_xcalloc(1, a->body.len + 1),
                           .len = a->body.len,
                           .end = a->delivery == RB_EXCHANGE_CUT ? a->cut_at : a->body.len,
                           .bytes_per_s = a->delivery == RB_EXCHANGE_DRIP ? a->bytes_per_s : 0,
                           .start_us = rb_clock_monotonic_us()};
    memcpy(d->body, rb_buf_str(&a->body), a->body.len);
    return MHD_create_response_from_callback(d->len, 4096, read_body, d, free_delivery);
}

// --- the answer ---

// Disconnecting a connected socket makes Linux send RST at once.
static void reset(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr no_peer = {.sa_family = AF_UNSPEC};
    connect(info->connect_fd, &no_peer, sizeof no_peer);
}

static void add_date(struct MHD_Response *response, int64_t skew_us)
{
    time_t at = (time_t)((rb_clock_unix_us() + skew_us) / RB_US_PER_S);
    struct tm tm;
    char text[64];
    strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&at, &tm));
    MHD_add_response_header(response, "Date", text);
}

struct switched {
    struct rb_deliveries *all;
    void *session;
};

static void hand_over(void *arg, struct MHD_Connection *connection, void *request, const char *bytes, size_t n,
                      MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
    (void)connection, (void)request;
    struct switched *s = arg;
    s->all->on_switch(s->all->switch_arg, s->session, fd, bytes, n, handle);
    free(s);
}

static struct MHD_Response *respond(struct rb_deliveries *d, struct MHD_Connection *connection,
                                    const struct rb_exchange_answer *a)
{
    if (a->delivery == RB_EXCHANGE_FEED)
        return respond_on(d, connection, a);
    if (a->delivery == RB_EXCHANGE_SWITCH) {
        struct switched *s = rb_xcalloc(1, sizeof *s);
        *s = (struct switched){d, a->session};
        return MHD_create_response_for_upgrade(hand_over, s);
    }
    if (a->delivery == RB_EXCHANGE_WHOLE || a->body.len == 0)
        return MHD_create_response_from_buffer(a->body.len, (void *)rb_buf_str(&a->body), MHD_RESPMEM_MUST_COPY);
    return respond_slowly(d, connection, a);
}

// "Name: value\n" each.
static void add_headers(struct MHD_Response *response, const struct rb_buf *headers)
{
    char name[64], value[1024];
    for (const char *at = rb_buf_str(headers); sscanf(at, "%63[^:]: %1023[^\n]", name, value) == 2;) {
        MHD_add_response_header(response, name, value);
        at = strchr(at, '\n') + 1;
    }
}

// What no process will carry on.
static void drop_rest(const struct rb_exchange_answer *a)
{
    free(a->session);
    if (a->feed.drop)
        a->feed.drop(a->feed.arg);
}

enum MHD_Result rb_deliveries_send(struct rb_deliveries *d, struct MHD_Connection *connection,
                                   const struct rb_exchange_answer *a)
{
    if (a->delivery == RB_EXCHANGE_RESET)
        reset(connection);
    if (a->delivery == RB_EXCHANGE_RESET || a->delivery == RB_EXCHANGE_LOST) {
        drop_rest(a);
        return MHD_NO; // closes the connection
    }
    struct MHD_Response *response = respond(d, connection, a);
    add_headers(response, &a->headers);
    if (a->content_type)
        MHD_add_response_header(response, "Content-Type", a->content_type);
    if (a->skew_us != 0)
        add_date(response, a->skew_us);
    enum MHD_Result result = MHD_queue_response(connection, (unsigned)a->status, response);
    MHD_destroy_response(response);
    return result;
}

// --- time ---

int64_t rb_deliveries_next_us(const struct rb_deliveries *d)
{
    int64_t next_us = INT64_MAX;
    for (int k = 0; k < d->n; k++)
        if (d->list[k]->suspended && d->list[k]->next_us < next_us)
            next_us = d->list[k]->next_us;
    return next_us;
}

void rb_deliveries_resume(struct rb_deliveries *d, int64_t monotonic_us)
{
    for (int k = 0; k < d->n; k++)
        if (d->list[k]->suspended && d->list[k]->next_us <= monotonic_us) {
            d->list[k]->suspended = false;
            MHD_resume_connection(d->list[k]->connection);
        }
}

void rb_deliveries_abandon(struct rb_deliveries *d)
{
    d->abandoned = true;
    rb_deliveries_resume(d, INT64_MAX);
}
