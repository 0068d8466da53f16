// The table of nodes. A node reports through two files: its supervisor's pipe, whose end means that nothing of
// the node is left, and a FIFO in which the node's own `shutdown` leaves its wishes.
#include "providers/mock/node/nodes.h"
#include "base/text/buf.h"
#include "base/errors/log.h"
#include "providers/mock/node/node_dir.h"
#include "providers/mock/node/node_host.h"
#include "providers/mock/node/node_net.h"
#include "providers/mock/node/node_supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_LINE         256    // a longer one is not from our own tools
#define MAX_SHUTDOWN_MIN 100000 // ten weeks; more is a slip

struct node {
    struct rb_arena arena;
    struct rb_node_dir dir;
    struct rb_node_cable cable;
    bool has_cable;
    pid_t pid;
    int report, control; // -1: closed
    struct rb_buf report_text, control_text;
    bool ended; // by rb_nodes_end
    bool gone;
};

struct rb_nodes {
    struct rb_nodes_config config;
    uint32_t first_address, n_addresses;
    char metadata_url[128]; // "": none
    char metadata_secret[33];
    int lock, epoll;
    struct node **nodes; // [n_nodes], those not gone
    int n_nodes, cap_nodes;
    struct rb_node_report *reports; // queue, [n_reports]
    int n_reports, cap_reports, next_report;
};

// --- reports ---

static struct rb_node_report *add_report(struct rb_nodes *n, int what, const char *id)
{
    if (n->next_report == n->n_reports)
        n->next_report = n->n_reports = 0;
    if (n->n_reports == n->cap_reports) {
        n->cap_reports = n->cap_reports ? 2 * n->cap_reports : 16;
        n->reports = rb_xrealloc(n->reports, (size_t)n->cap_reports, sizeof *n->reports);
    }
    struct rb_node_report *r = &n->reports[n->n_reports++];
    *r = (struct rb_node_report){.what = what};
    snprintf(r->id, sizeof r->id, "%s", id);
    return r;
}

static void power_off(struct node *node);

static void hear_supervisor(struct rb_nodes *n, struct node *node, const char *line)
{
    if (strcmp(line, "ready") == 0)
        add_report(n, RB_NODE_READY, node->dir.id);
    else if (strncmp(line, "failed ", 7) == 0)
        snprintf(add_report(n, RB_NODE_FAILED, node->dir.id)->text, 256, "%s", line + 7);
}

// The messages of the substitute tools. Every process on the node can write here, so nothing else is accepted.
static void hear_guest(struct rb_nodes *n, struct node *node, const char *line)
{
    char *end;
    if (strcmp(line, "cancel") == 0) {
        add_report(n, RB_NODE_CANCEL, node->dir.id);
    } else if (strcmp(line, "halt") == 0) {
        power_off(node);
    } else if (strncmp(line, "shutdown ", 9) == 0) {
        long minutes = strtol(line + 9, &end, 10);
        if (*end == '\0' && minutes >= 0 && minutes <= MAX_SHUTDOWN_MIN)
            add_report(n, RB_NODE_SHUTDOWN, node->dir.id)->minutes = (int)minutes;
    }
}

// Reads what there is and hands over each whole line. false: the other end is closed.
static bool read_lines(struct rb_nodes *n, struct node *node, int fd, struct rb_buf *text,
                       void (*hear)(struct rb_nodes *, struct node *, const char *))
{
    char bytes[1024];
    ssize_t got;
    while ((got = read(fd, bytes, sizeof bytes)) > 0)
        rb_buf_append(text, bytes, (size_t)got);
    bool open = got < 0 && errno == EAGAIN;
    for (char *newline; text->len > 0 && (newline = memchr(text->data, '\n', text->len));) {
        *newline = '\0';
        hear(n, node, text->data);
        rb_buf_consume(text, (size_t)(newline - text->data) + 1);
    }
    if (text->len > MAX_LINE)
        rb_buf_clear(text);
    return open;
}

// --- the end of a node ---

static void power_off(struct node *node)
{
    if (node->pid > 0)
        kill(node->pid, SIGTERM);
}

// Called when the supervisor's pipe has ended: its last process is gone.
static void remove_node(struct rb_nodes *n, struct node *node)
{
    waitpid(node->pid, NULL, 0);
    node->pid = 0;
    close(node->report);
    close(node->control);
    node->report = node->control = -1;
    if (node->has_cable)
        rb_node_cable_remove(&node->cable);
    node->has_cable = false;
    node->gone = true;
    if (node->ended)
        add_report(n, RB_NODE_GONE, node->dir.id);
}

static void free_node(struct rb_nodes *n, struct node *node)
{
    rb_node_dir_remove(&node->dir, n->config.keep_logs);
    rb_buf_finish(&node->report_text);
    rb_buf_finish(&node->control_text);
    rb_arena_finish(&node->arena);
    free(node);
}

static void forget(struct rb_nodes *n, struct node *node)
{
    for (int k = 0; k < n->n_nodes; k++)
        if (n->nodes[k] == node) {
            n->nodes[k] = n->nodes[--n->n_nodes];
            break;
        }
    free_node(n, node);
}

static struct node *find(const struct rb_nodes *n, const char *id)
{
    for (int k = 0; k < n->n_nodes; k++)
        if (strcmp(n->nodes[k]->dir.id, id) == 0)
            return n->nodes[k];
    return NULL;
}

void rb_nodes_end(struct rb_nodes *n, const char *id)
{
    struct node *node = find(n, id);
    if (!node || node->gone) { // it never came up, or went down by itself
        add_report(n, RB_NODE_GONE, id);
        if (node)
            forget(n, node);
        return;
    }
    node->ended = true;
    kill(node->pid, SIGCONT);
    power_off(node);
}

// --- boot ---

static bool watch(struct rb_nodes *n, int fd, struct node *node)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = node};
    return epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

static bool bring_up(struct rb_nodes *n, struct node *node, uint32_t address, const struct rb_user_data *u,
                     struct rb_err *err)
{
    if (!rb_node_dir_make(&node->dir, u, err))
        return false;
    // Open for writing too, so that the FIFO never ends when a writer goes.
    node->control = open(node->dir.control, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (node->control < 0)
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot open the pipe %s: %s", node->dir.control, strerror(errno));
    if (n->config.netns && !rb_node_cable_add(address, &node->cable, err))
        return false;
    node->has_cable = n->config.netns;
    if (!rb_node_supervisor_start(&node->dir, node->has_cable ? node->cable.netns : NULL, &node->pid, &node->report,
                                  err))
        return false;
    if (!watch(n, node->report, node) || !watch(n, node->control, node))
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "epoll: %s", strerror(errno));
    return true;
}

static struct node *add_node(struct rb_nodes *n)
{
    struct node *node = rb_xcalloc(1, sizeof *node);
    rb_arena_init(&node->arena);
    node->report = node->control = -1;
    if (n->n_nodes == n->cap_nodes) {
        n->cap_nodes = n->cap_nodes ? 2 * n->cap_nodes : 16;
        n->nodes = rb_xrealloc(n->nodes, (size_t)n->cap_nodes, sizeof(struct node *));
    }
    return n->nodes[n->n_nodes++] = node;
}

static void abandon(struct rb_nodes *n, struct node *node, const char *why)
{
    if (node->pid > 0) { // it cannot be listened to, so it must not run
        power_off(node);
        waitpid(node->pid, NULL, 0);
        close(node->report);
    }
    if (node->control >= 0)
        close(node->control);
    if (node->has_cable)
        rb_node_cable_remove(&node->cable);
    node->report = node->control = -1;
    node->has_cable = false;
    node->gone = true;
    snprintf(add_report(n, RB_NODE_FAILED, node->dir.id)->text, 256, "%.255s", why);
}

void rb_nodes_boot(struct rb_nodes *n, const char *id, uint32_t address, const void *user_data, size_t user_data_len)
{
    struct rb_err err;
    struct rb_user_data u, nothing = {.authorized_keys = "", .boot_script = "", .run_script = ""};
    struct node *node = add_node(n);
    node->dir =
        rb_node_dir_name(n->config.directory, id, address, n->config.ssh_port, n->config.host_path, &node->arena);
    if (n->config.speed != 1.0)
        node->dir.clock_permille = rb_arena_printf(&node->arena, "%.0f", n->config.speed * 1000);
    if (n->metadata_url[0])
        node->dir.metadata_url = rb_arena_printf(&node->arena, "%s/%s.%s/", n->metadata_url, id, n->metadata_secret);
    if (!rb_user_data_read(user_data, user_data_len, &node->arena, &u, &err)) {
        struct rb_err ignored;
        rb_node_dir_make(&node->dir, &nothing, &ignored);
        const char *why =
            rb_arena_printf(&node->arena, "user data%s%s: %s", *err.key ? ", " : "", err.key, err.message);
        rb_node_dir_log(&node->dir, "%s", why);
        abandon(n, node, why);
    } else if (!bring_up(n, node, address, &u, &err)) {
        abandon(n, node, err.message);
    }
}

// --- accidents ---

bool rb_node_accident_parse(const char *name, enum rb_node_accident *out)
{
    static const char *const names[] = {"cut", "heal", "drop", "undrop", "freeze", "thaw", "poweroff"};
    for (int k = 0; k < (int)(sizeof names / sizeof *names); k++)
        if (strcmp(names[k], name) == 0) {
            *out = (enum rb_node_accident)k;
            return true;
        }
    return false;
}

bool rb_nodes_accident(struct rb_nodes *n, const char *id, enum rb_node_accident accident, struct rb_err *err)
{
    struct node *node = find(n, id);
    bool needs_cable = accident <= RB_NODE_UNDROP;
    if (!node || node->gone)
        return rb_err_set(err, RB_E_MOCK_NODE, "no node %s is up", id);
    if (needs_cable && !node->has_cable)
        return rb_err_set(err, RB_E_MOCK_CUT,
                          "only nodes with a network of their own can be cut off: start rbmock with "
                          "--nodes netns");
    switch (accident) {
    case RB_NODE_CUT:
    case RB_NODE_HEAL:
        return rb_node_cable_set(&node->cable, accident == RB_NODE_HEAL, err);
    case RB_NODE_DROP:
    case RB_NODE_UNDROP:
        return rb_node_cable_drop(&node->cable, accident == RB_NODE_DROP, err);
    case RB_NODE_FREEZE:
    case RB_NODE_THAW:
        kill(node->pid, accident == RB_NODE_FREEZE ? SIGUSR1 : SIGUSR2);
        return true;
    case RB_NODE_POWEROFF:
        break;
    }
    // The cable first, so that the peer sees silence and not a closed connection.
    if (node->has_cable && !rb_node_cable_set(&node->cable, false, err))
        return false;
    power_off(node);
    return true;
}

// --- listening ---

int rb_nodes_fd(const struct rb_nodes *n)
{
    return n->epoll;
}

static void listen_to(struct rb_nodes *n, struct node *node)
{
    if (node->gone)
        return;
    read_lines(n, node, node->control, &node->control_text, hear_guest);
    if (!read_lines(n, node, node->report, &node->report_text, hear_supervisor))
        remove_node(n, node);
}

static bool poll_nodes(struct rb_nodes *n, int timeout_ms)
{
    struct epoll_event events[64];
    int got = epoll_wait(n->epoll, events, 64, timeout_ms);
    for (int k = 0; k < got; k++)
        listen_to(n, events[k].data.ptr);
    // Only now: an event of this round may still have named them.
    for (int k = n->n_nodes - 1; k >= 0; k--)
        if (n->nodes[k]->gone && n->nodes[k]->ended)
            forget(n, n->nodes[k]);
    return got > 0;
}

bool rb_nodes_next_report(struct rb_nodes *n, struct rb_node_report *out)
{
    while (n->next_report == n->n_reports)
        if (!poll_nodes(n, 0))
            return false;
    *out = n->reports[n->next_report++];
    return true;
}

// --- all of them ---

bool rb_nodes_create(const struct rb_nodes_config *config, struct rb_nodes **out, struct rb_err *err)
{
    struct rb_nodes n = {.config = *config, .lock = -1};
    if (!rb_node_host_check(err))
        return false;
    if (config->netns) {
        if (!rb_node_net_up(err))
            return false;
        n.first_address = RB_NODE_NET_FIRST;
        n.n_addresses = RB_NODE_NET_COUNT;
    } else if (!rb_node_host_claim(config->ssh_port, &n.first_address, &n.n_addresses, &n.lock, err)) {
        return false;
    }
    n.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (n.epoll < 0)
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "epoll: %s", strerror(errno));
    *out = rb_xcalloc(1, sizeof **out);
    **out = n;
    return true;
}

void rb_nodes_addresses(const struct rb_nodes *n, uint32_t *out_first, uint32_t *out_count)
{
    *out_first = n->first_address;
    *out_count = n->n_addresses;
}

void rb_nodes_serve_metadata(struct rb_nodes *n, const char *url, const char *secret)
{
    snprintf(n->metadata_url, sizeof n->metadata_url, "%s", url);
    snprintf(n->metadata_secret, sizeof n->metadata_secret, "%s", secret);
}

static bool any_alive(const struct rb_nodes *n)
{
    for (int k = 0; k < n->n_nodes; k++)
        if (!n->nodes[k]->gone)
            return true;
    return false;
}

void rb_nodes_destroy(struct rb_nodes *n)
{
    if (!n)
        return;
    for (int k = 0; k < n->n_nodes; k++)
        if (!n->nodes[k]->gone) {
            n->nodes[k]->ended = true;
            power_off(n->nodes[k]);
        }
    while (any_alive(n))
        poll_nodes(n, 1000);
    while (n->n_nodes > 0)
        forget(n, n->nodes[0]);
    if (n->config.netns)
        rb_node_net_down();
    if (n->lock >= 0)
        close(n->lock);
    close(n->epoll);
    free(n->nodes);
    free(n->reports);
    free(n);
}
