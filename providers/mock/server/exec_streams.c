// One epoll for the connections and the pipes of all commands. What cannot be written yet waits in a buffer, and a sender that
// fills it is not read until it has room.
#include "providers/mock/server/exec_streams.h"
#include "base/arena.h"
#include "base/document/json.h"
#include "providers/mock/k8s/websocket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK          32768
#define MAX_WAITS      (1 << 18) // bytes in a buffer beyond which its source is not read
#define PIPE_BYTES     (1 << 20)
#define NORMAL_CLOSE   "\x03\xe8"
#define PROTOCOL_CLOSE "\x03\xea"

enum channel { STDIN, STDOUT, STDERR, STATUS, SOCKET = STATUS, N_ENDS };
#define STREAM_CLOSE 255 // v5

struct stream;

struct end { // a file that is watched
    struct stream *stream;
    int fd; // -1: closed
    uint32_t interest;
};

// Bytes on their way out.
struct queue {
    struct rb_buf buf;
    size_t at;
};

struct stream {
    struct stream *next;
    struct rb_exec_streams *all;
    struct rb_k8s_exec *exec;
    struct MHD_UpgradeResponseHandle *handle;
    struct end ends[N_ENDS]; // the pipes, our side; the connection
    struct rb_buf in;        // from the client, not yet frames
    struct queue to_client, to_stdin;
    bool stdin_ends;                               // when to_stdin is empty
    int number;                                    // of the command
    bool has_ended, has_closed, is_reset, is_over; // the command; our last frame is queued; RST follows; to be freed
    int status;
    char failure[256]; // "": it ran
    int64_t n_sent;    // bytes of output
};

struct rb_exec_streams {
    struct rb_pods *pods;
    struct stream *first;
    int epoll;
    bool has_let_go; // of a connection, which the daemon has not closed yet
};

// --- queues ---

static size_t waits(const struct queue *q)
{
    return q->buf.len - q->at;
}

static void drop_queue(struct queue *q)
{
    rb_buf_finish(&q->buf);
    q->at = 0;
}

// False: the other side is gone.
static bool flush_queue(struct queue *q, int fd, bool is_socket)
{
    while (waits(q) > 0) {
        const char *bytes = q->buf.data + q->at;
        const ssize_t n = is_socket ? send(fd, bytes, waits(q), MSG_NOSIGNAL) : write(fd, bytes, waits(q));
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        q->at += (size_t)n;
    }
    rb_buf_clear(&q->buf);
    q->at = 0;
    return true;
}

// --- ends ---

static void watch(struct end *e, uint32_t interest)
{
    if (e->fd < 0 || e->interest == interest)
        return;
    struct epoll_event event = {.events = interest, .data.ptr = e};
    const int epoll = e->stream->all->epoll;
    if (interest == 0)
        epoll_ctl(epoll, EPOLL_CTL_DEL, e->fd, &event);
    else
        epoll_ctl(epoll, e->interest == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, e->fd, &event);
    e->interest = interest;
}

static void close_end(struct end *e)
{
    if (e->fd < 0)
        return;
    watch(e, 0);
    close(e->fd);
    e->fd = -1;
}

// The client is gone, or has been sent everything.
static void let_go(struct stream *s)
{
    struct end *e = &s->ends[SOCKET];
    if (e->fd < 0)
        return;
    watch(e, 0);
    if (s->is_reset) { // disconnecting a connected socket makes Linux send RST at once
        struct sockaddr no_peer = {.sa_family = AF_UNSPEC};
        connect(e->fd, &no_peer, sizeof no_peer);
    }
    e->fd = -1;
    s->all->has_let_go = true;
    MHD_upgrade_action(s->handle, MHD_UPGRADE_ACTION_CLOSE);
    s->stdin_ends = true;
    drop_queue(&s->to_client);
}

// Everything has been sent. What the client still sends is read until it closes, too: closing over unread bytes would
// reset the connection, and the client would lose the status.
static void end_sending(struct stream *s)
{
    if (s->is_reset)
        let_go(s);
    else if (s->ends[SOCKET].fd >= 0)
        shutdown(s->ends[SOCKET].fd, SHUT_WR);
}

// --- to the client ---

static void put_frame(struct stream *s, enum channel c, const void *bytes, size_t n)
{
    const char channel = (char)c;
    if (s->ends[SOCKET].fd >= 0 && !s->has_closed)
        rb_websocket_write(&s->to_client.buf, RB_WEBSOCKET_BINARY, &channel, 1, bytes, n);
}

static void put_close(struct stream *s, const char *code)
{
    if (!s->has_closed && s->ends[SOCKET].fd >= 0)
        rb_websocket_write(&s->to_client.buf, RB_WEBSOCKET_CLOSE, code, 2, NULL, 0);
    s->has_closed = true;
}

static void put_output(struct stream *s, enum channel c, const char *bytes, size_t n)
{
    const int64_t cut_at = s->exec->cut_at;
    if (cut_at >= 0 && s->n_sent + (int64_t)n >= cut_at) {
        n = (size_t)(cut_at - s->n_sent);
        s->is_reset = true;
    }
    put_frame(s, c, bytes, n);
    s->n_sent += (int64_t)n;
    s->has_closed |= s->is_reset;
}

static void put_status(struct stream *s)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    if (*s->failure)
        rb_json_put(&j,
                    "{metadata: {}, status: 'Failure', message: 'Internal error occurred: error executing command in "
                    "container: %s', reason: 'InternalError', details: {causes: [{message: 'error executing command in "
                    "container: %s'}]}, code: 500}",
                    s->failure, s->failure);
    else if (s->status == 0)
        rb_json_put(&j, "{metadata: {}, status: 'Success'}");
    else
        rb_json_put(
            &j,
            "{metadata: {}, status: 'Failure', message: 'command terminated with non-zero exit code: exit status "
            "%d', reason: 'NonZeroExitCode', details: {causes: [{reason: 'ExitCode', message: '%d'}]}}",
            s->status, s->status);
    if (!s->exec->lacks_status)
        put_frame(s, STATUS, text.data, text.len);
    put_close(s, NORMAL_CLOSE);
}

// --- from the client ---

static void take_data(struct stream *s, const char *bytes, size_t n)
{
    const int channel = n > 0 ? (unsigned char)bytes[0] : -1;
    if (channel == STDIN && s->exec->has[STDIN] && !s->stdin_ends)
        rb_buf_append(&s->to_stdin.buf, bytes + 1, n - 1);
    else if (channel == STREAM_CLOSE && s->exec->is_v5 && n == 2 && bytes[1] == STDIN)
        s->stdin_ends = true;
    // Others are ignored, as the server does: v4 has no half-close, channel 4 is a terminal's size.
}

static void take_frames(struct stream *s)
{
    struct rb_websocket_frame f;
    int got = 0;
    while (!s->has_closed && (got = rb_websocket_read(&s->in, &f)) > 0) {
        if (f.kind == RB_WEBSOCKET_PING)
            rb_websocket_write(&s->to_client.buf, RB_WEBSOCKET_PONG, f.bytes, f.n, NULL, 0);
        else if (f.kind == RB_WEBSOCKET_CLOSE)
            put_close(s, NORMAL_CLOSE);
        else if (f.kind == RB_WEBSOCKET_BINARY || f.kind == RB_WEBSOCKET_TEXT) // the server makes no difference
            take_data(s, f.bytes, f.n);
        rb_buf_consume(&s->in, f.whole);
    }
    if (got < 0)
        put_close(s, PROTOCOL_CLOSE);
}

static void read_client(struct stream *s)
{
    char bytes[2 * CHUNK];
    const ssize_t n = recv(s->ends[SOCKET].fd, bytes, sizeof bytes, 0);
    if (n > 0 && s->has_closed)
        return; // no one wants it any more
    if (n > 0) {
        rb_buf_append(&s->in, bytes, (size_t)n);
        take_frames(s);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        let_go(s);
    }
}

// --- from the command ---

static void read_output(struct stream *s, enum channel c)
{
    char bytes[CHUNK];
    const ssize_t n = read(s->ends[c].fd, bytes, sizeof bytes);
    if (n > 0)
        put_output(s, c, bytes, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_end(&s->ends[c]);
}

// --- progress ---

// Everything that follows from the present state, and what is waited for next.
static void go_on(struct stream *s)
{
    struct end *socket_end = &s->ends[SOCKET], *in = &s->ends[STDIN];
    if (in->fd >= 0 && !flush_queue(&s->to_stdin, in->fd, false))
        close_end(in);
    if (s->stdin_ends && waits(&s->to_stdin) == 0)
        close_end(in);
    if (in->fd < 0)
        drop_queue(&s->to_stdin); // no one reads it
    const bool is_silent = s->ends[STDOUT].fd < 0 && s->ends[STDERR].fd < 0;
    if (s->has_ended && is_silent && !s->has_closed)
        put_status(s);
    if (socket_end->fd >= 0 && !flush_queue(&s->to_client, socket_end->fd, true))
        let_go(s);
    if (s->has_closed && waits(&s->to_client) == 0)
        end_sending(s);
    const size_t room = socket_end->fd < 0 || s->has_closed || waits(&s->to_client) < MAX_WAITS;
    watch(socket_end, (s->has_closed || waits(&s->to_stdin) < MAX_WAITS ? EPOLLIN : 0u) |
                          (waits(&s->to_client) > 0 ? EPOLLOUT : 0u));
    watch(in, waits(&s->to_stdin) > 0 ? EPOLLOUT : 0);
    watch(&s->ends[STDOUT], room ? EPOLLIN : 0);
    watch(&s->ends[STDERR], room ? EPOLLIN : 0);
    s->is_over = s->has_ended && is_silent && socket_end->fd < 0;
}

static void free_stream(struct stream *s)
{
    let_go(s);
    for (int c = STDIN; c <= STDERR; c++)
        close_end(&s->ends[c]);
    rb_buf_finish(&s->in);
    drop_queue(&s->to_client);
    drop_queue(&s->to_stdin);
    free(s->exec);
    free(s);
}

static void sweep(struct rb_exec_streams *all)
{
    for (struct stream **at = &all->first; *at;) {
        struct stream *s = *at;
        if (!s->is_over) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        free_stream(s);
    }
}

// --- beginning ---

// The command's side of a pipe; ours goes to *out. -1: none, with errno.
static int open_pipe(bool is_input, int *out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    *out = ends[is_input];
    fcntl(*out, F_SETFL, O_NONBLOCK);
    fcntl(*out, F_SETPIPE_SZ, PIPE_BYTES); // or what the system allows
    return ends[!is_input];
}

static void start(struct stream *s)
{
    int theirs[3] = {-1, -1, -1};
    bool ok = true;
    for (int c = STDIN; c <= STDERR; c++) {
        theirs[c] = s->exec->has[c] ? open_pipe(c == STDIN, &s->ends[c].fd) : open("/dev/null", O_RDWR | O_CLOEXEC);
        ok &= theirs[c] >= 0;
    }
    ok = ok && rb_pods_exec(s->all->pods, s->exec->uid, s->exec->argv, theirs, &s->number);
    for (int c = STDIN; c <= STDERR; c++)
        if (theirs[c] >= 0)
            close(theirs[c]);
    if (ok)
        return;
    strcpy(s->failure, "container not found");
    s->has_ended = true;
}

void rb_exec_streams_begin(struct rb_exec_streams *all, struct rb_k8s_exec *exec, int fd, const char *bytes, size_t n,
                           struct MHD_UpgradeResponseHandle *handle)
{
    struct stream *s = rb_xcalloc(1, sizeof *s);
    s->all = all;
    s->exec = exec;
    s->handle = handle;
    for (int c = 0; c < N_ENDS; c++)
        s->ends[c] = (struct end){.stream = s, .fd = c == SOCKET ? fd : -1};
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    s->next = all->first;
    all->first = s;
    start(s);
    // An empty message on the first channel that is read says that the connection stands.
    put_frame(s, exec->has[STDOUT] ? STDOUT : exec->has[STDERR] ? STDERR : STATUS, NULL, 0);
    rb_buf_append(&s->in, bytes, n);
    take_frames(s);
    go_on(s);
}

void rb_exec_streams_report(struct rb_exec_streams *all, const struct rb_pod_report *r)
{
    for (struct stream *s = all->first; s; s = s->next)
        if (s->number == r->number && s->number > 0 && !s->has_ended) {
            s->has_ended = true;
            s->status = r->status;
            memcpy(s->failure, r->text, sizeof s->failure);
            go_on(s);
        }
    sweep(all);
}

// --- all of them ---

struct rb_exec_streams *rb_exec_streams_create(struct rb_pods *pods)
{
    struct rb_exec_streams *all = rb_xcalloc(1, sizeof *all);
    all->pods = pods;
    all->epoll = epoll_create1(EPOLL_CLOEXEC);
    return all;
}

void rb_exec_streams_destroy(struct rb_exec_streams *all)
{
    if (!all)
        return;
    for (struct stream *s = all->first; s; s = s->next)
        s->is_over = true;
    sweep(all);
    close(all->epoll);
    free(all);
}

bool rb_exec_streams_have_let_go(struct rb_exec_streams *all)
{
    const bool has = all->has_let_go;
    all->has_let_go = false;
    return has;
}

int rb_exec_streams_fd(const struct rb_exec_streams *all)
{
    return all->epoll;
}

void rb_exec_streams_run(struct rb_exec_streams *all)
{
    struct epoll_event events[64];
    const int n = epoll_wait(all->epoll, events, 64, 0);
    for (int k = 0; k < n; k++) {
        struct end *e = events[k].data.ptr;
        struct stream *s = e->stream;
        if (e->fd < 0 || e->interest == 0)
            continue; // closed in this round
        if (e == &s->ends[SOCKET] && (events[k].events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
            read_client(s);
        else if (e == &s->ends[STDIN] && (events[k].events & (EPOLLERR | EPOLLHUP)))
            close_end(e);
        else if (e == &s->ends[STDOUT] || e == &s->ends[STDERR])
            read_output(s, (enum channel)(e - s->ends));
        go_on(s);
    }
    sweep(all);
}
