#include "commands/rbmcp/server.h"

#include "base/clock.h"
#include "commands/rbmcp/calls.h"
#include "commands/rbmcp/prompts.h"
#include "commands/rbmcp/protocol.h"
#include "commands/rbmcp/results.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 50, PROGRESS_US = 1000000 };

struct server {
    struct rb_mcp_setting *setting;
    int in_fd, out_fd;
    struct rb_buf in, out;
    bool skipping; // the rest of a line that was too long
    bool deaf;     // nothing can be written any more
    struct rb_mcp_call *calls[RB_LIMIT_MCP_CALLS];
    int n_calls;
    pid_t *begun; // runs that go on by themselves, to be reaped
    int n_begun;
};

// --- writing

static void flush(struct server *s)
{
    size_t at = 0;
    while (at < s->out.len && !s->deaf) {
        const ssize_t n = write(s->out_fd, s->out.data + at, s->out.len - at);
        if (n < 0 && errno != EINTR)
            s->deaf = true;
        at += n > 0 ? (size_t)n : 0;
    }
    rb_buf_clear(&s->out);
}

// --- calls

static void remove_call(struct server *s, int i)
{
    rb_mcp_call_finish(s->calls[i]);
    free(s->calls[i]);
    s->calls[i] = s->calls[--s->n_calls];
}

static void discard(struct rb_mcp_call *call)
{
    rb_mcp_call_finish(call);
    free(call);
}

static struct rb_mcp_call *new_call(const struct rb_mcp_message *m, enum rb_mcp_purpose purpose)
{
    struct rb_mcp_call *call = rb_xcalloc(1, sizeof *call);
    call->purpose = purpose;
    call->era = m->era;
    strcpy(call->id, m->id);
    strcpy(call->token, m->token);
    call->out_fd = call->err_fd = -1;
    return call;
}

static void report_progress(struct server *s, struct rb_mcp_call *call, const char *text)
{
    if (call->token[0] && !call->cancelled)
        rb_mcp_progress(&s->out, call->token, ++call->n_progress, text);
}

// Takes the call.
static void start(struct server *s, struct rb_mcp_call *call)
{
    struct rb_err err;
    if (s->n_calls == RB_LIMIT_MCP_CALLS) {
        rb_mcp_error(&s->out, call->id, RB_MCP_INTERNAL_ERROR, "too many calls at once; wait for one to end");
        discard(call);
    } else if (!rb_mcp_call_start(call, &err)) {
        rb_mcp_answer_error(call, &err, &s->out);
        discard(call);
    } else {
        s->calls[s->n_calls++] = call;
        report_progress(s, call, "started");
    }
}

static void call_tool(struct server *s, const struct rb_mcp_message *m)
{
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    const struct rb_node *name = rb_node_member(m->params, "name"), *args = rb_node_member(m->params, "arguments");
    const struct rb_mcp_tool *tool = name && name->kind == RB_NODE_STRING ? rb_mcp_tool_find(name->text) : NULL;
    struct rb_err err;
    if (!tool || !rb_mcp_tool_takes(tool, args, &why)) {
        rb_mcp_error(&s->out, m->id, RB_MCP_INVALID_PARAMS,
                     tool ? rb_buf_str(&why) : "there is no such tool; tools/list names them");
        return;
    }
    struct rb_mcp_call *call = new_call(m, RB_MCP_FOR_TOOL);
    if (!rb_mcp_tool_prepare(tool, s->setting, args, &call->work, &err)) {
        rb_mcp_answer_error(call, &err, &s->out);
        discard(call);
    } else if (!call->work.argv[0]) {
        rb_mcp_answer_with(call, rb_buf_str(&call->work.result), &s->out);
        discard(call);
    } else {
        start(s, call);
    }
}

static void list_tools(struct server *s, const struct rb_mcp_message *m)
{
    struct rb_json j;
    rb_mcp_begin_result(&j, &s->out, m->era, m->id, true);
    rb_mcp_tools_write(&j);
    rb_mcp_end_result(&j);
}

// --- resources

static void list_resources(struct server *s, const struct rb_mcp_message *m)
{
    struct rb_mcp_call *call = new_call(m, RB_MCP_FOR_RUNS);
    rb_mcp_program(s->setting, &call->work, "rbrun");
    rb_mcp_word(&call->work, "list");
    rb_mcp_word(&call->work, "--json");
    rb_mcp_state_words(s->setting, &call->work);
    start(s, call);
}

static void list_templates(struct server *s, const struct rb_mcp_message *m)
{
    struct rb_json j;
    rb_mcp_begin_result(&j, &s->out, m->era, m->id, true);
    rb_json_put(
        &j, "resourceTemplates: [{uriTemplate: 'rb://runs/{run}/report' name: 'report' description: 'What a run did "
            "and cost.' mimeType: 'application/json'} {uriTemplate: 'rb://errors/{number}' name: 'error' "
            "description: 'Cause and remedy of an error, by its number such as RB1112.' mimeType: "
            "'text/plain'}]");
    rb_mcp_end_result(&j);
}

// "rb://errors/RB1112": its number. NULL: it is none.
static const char *number_of(const char *uri)
{
    static const char begin[] = "rb://errors/";
    const char *number = strncmp(uri, begin, strlen(begin)) == 0 ? uri + strlen(begin) : "";
    return strlen(number) == 6 && strncmp(number, "RB", 2) == 0 && strspn(number + 2, "0123456789") == 4 ? number
                                                                                                         : NULL;
}

// "rb://runs/ID/report": its run. False: it is none.
static bool run_of(const char *uri, char out[static 128])
{
    static const char begin[] = "rb://runs/", end[] = "/report";
    const size_t n = strlen(uri), n_begin = strlen(begin), n_end = strlen(end);
    if (n <= n_begin + n_end || n - n_begin - n_end >= 128 || strncmp(uri, begin, n_begin) != 0 ||
        strcmp(uri + n - n_end, end) != 0)
        return false;
    memcpy(out, uri + n_begin, n - n_begin - n_end);
    out[n - n_begin - n_end] = '\0';
    return rb_mcp_is_run_id(out);
}

static void read_resource(struct server *s, const struct rb_mcp_message *m)
{
    const struct rb_node *uri = rb_node_member(m->params, "uri");
    char run[128];
    if (!uri || uri->kind != RB_NODE_STRING) {
        rb_mcp_error(&s->out, m->id, RB_MCP_INVALID_PARAMS, "uri must be a string");
        return;
    }
    const char *number = number_of(uri->text);
    if (!number && !run_of(uri->text, run)) {
        rb_mcp_not_found(&s->out, m->era, m->id, "there is no such resource");
        return;
    }
    struct rb_mcp_call *call = new_call(m, number ? RB_MCP_FOR_ERROR : RB_MCP_FOR_REPORT);
    strcpy(call->uri, uri->text);
    rb_mcp_program(s->setting, &call->work, number ? "rbplan" : "rbrun");
    rb_mcp_word(&call->work, number ? "explain" : "report");
    if (number) {
        rb_mcp_word(&call->work, "%s", number);
    } else {
        rb_mcp_word(&call->work, "--json");
        rb_mcp_state_words(s->setting, &call->work);
        rb_mcp_word(&call->work, "%s", run);
    }
    start(s, call);
}

// --- prompts, and what this server is

static void list_prompts(struct server *s, const struct rb_mcp_message *m)
{
    struct rb_json j;
    rb_mcp_begin_result(&j, &s->out, m->era, m->id, true);
    rb_mcp_prompts_write(&j);
    rb_mcp_end_result(&j);
}

static void get_prompt(struct server *s, const struct rb_mcp_message *m)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT, why = RB_BUF_INIT;
    struct rb_json j;
    if (!rb_mcp_prompt_write(m->params, &text, &why)) {
        rb_mcp_error(&s->out, m->id, RB_MCP_INVALID_PARAMS, rb_buf_str(&why));
        return;
    }
    rb_mcp_begin_result(&j, &s->out, m->era, m->id, false);
    rb_json_put(&j, "messages: [{role: 'user' content: {type: 'text' text: %s}}]", rb_buf_str(&text));
    rb_mcp_end_result(&j);
}

static void initialize(struct server *s, const struct rb_mcp_message *m)
{
    const struct rb_node *asked = rb_node_member(m->params, "protocolVersion");
    struct rb_json j;
    if (m->era == RB_MCP_ERA_MODERN) {
        rb_mcp_error(&s->out, m->id, RB_MCP_METHOD_NOT_FOUND, "this version of the protocol has no initialize");
        return;
    }
    if (!asked || asked->kind != RB_NODE_STRING) {
        rb_mcp_error(&s->out, m->id, RB_MCP_INVALID_PARAMS, "protocolVersion must be a string");
        return;
    }
    rb_mcp_begin_result(&j, &s->out, m->era, m->id, false);
    rb_mcp_write_self(&j, m->era, rb_mcp_agree(asked->text), rb_mcp_instructions);
    rb_mcp_end_result(&j);
}

static void discover(struct server *s, const struct rb_mcp_message *m)
{
    struct rb_json j;
    rb_mcp_begin_result(&j, &s->out, RB_MCP_ERA_MODERN, m->id, true);
    rb_mcp_write_self(&j, RB_MCP_ERA_MODERN, NULL, rb_mcp_instructions);
    rb_mcp_end_result(&j);
}

static void ping(struct server *s, const struct rb_mcp_message *m)
{
    struct rb_json j;
    rb_mcp_begin_result(&j, &s->out, m->era, m->id, false);
    rb_mcp_end_result(&j);
}

// --- messages

static const struct {
    const char *method;
    void (*carry_out)(struct server *s, const struct rb_mcp_message *m);
} methods[] = {
    {"initialize", initialize},
    {"ping", ping},
    {"prompts/get", get_prompt},
    {"prompts/list", list_prompts},
    {"resources/list", list_resources},
    {"resources/read", read_resource},
    {"resources/templates/list", list_templates},
    {"server/discover", discover},
    {"tools/call", call_tool},
    {"tools/list", list_tools},
};

static void carry_out(struct server *s, const struct rb_mcp_message *m)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(methods[i].method, m->method) == 0) {
            methods[i].carry_out(s, m);
            return;
        }
    }
    rb_mcp_error(&s->out, m->id, RB_MCP_METHOD_NOT_FOUND, "there is no such method");
}

// Nothing answers a call that was cancelled.
static void cancel(struct server *s, const struct rb_mcp_message *m)
{
    const struct rb_node *id = rb_node_member(m->params, "requestId");
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    if (!id)
        return;
    struct rb_json j = {.out = &text};
    rb_json_node(&j, id);
    for (int i = 0; i < s->n_calls; i++) {
        if (strcmp(s->calls[i]->id, rb_buf_str(&text)) != 0)
            continue;
        s->calls[i]->cancelled = true;
        rb_mcp_call_end(s->calls[i]);
    }
}

static void take_line(struct server *s, const char *line, size_t n)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_mcp_message m;
    while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' '))
        n--;
    if (n == 0 || !rb_mcp_read(line, n, &doc, &m, &s->out))
        return;
    if (m.kind == RB_MCP_REQUEST)
        carry_out(s, &m);
    else if (m.kind == RB_MCP_NOTIFICATION && strcmp(m.method, "notifications/cancelled") == 0)
        cancel(s, &m);
}

static void take_lines(struct server *s)
{
    size_t begin = 0;
    for (;;) {
        const char *end = s->in.len > begin ? memchr(s->in.data + begin, '\n', s->in.len - begin) : NULL;
        if (!end)
            break;
        const size_t n = (size_t)(end - s->in.data) - begin;
        if (!s->skipping)
            take_line(s, s->in.data + begin, n);
        s->skipping = false;
        begin += n + 1;
    }
    if (begin > 0)
        rb_buf_consume(&s->in, begin);
    if (s->in.len <= RB_LIMIT_MCP_LINE)
        return;
    if (!s->skipping) {
        RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
        struct rb_err err;
        rb_err_set(&err, RB_E_MCP_LINE, "a line of more than %d bytes was skipped", RB_LIMIT_MCP_LINE);
        rb_err_write(&err, &why);
        rb_mcp_error(&s->out, "", RB_MCP_PARSE_ERROR, rb_buf_str(&why));
    }
    s->skipping = true;
    rb_buf_clear(&s->in);
}

// False: the input has ended.
static bool take_input(struct server *s)
{
    char chunk[65536];
    const ssize_t n = read(s->in_fd, chunk, sizeof chunk);
    if (n <= 0)
        return n < 0 && (errno == EINTR || errno == EAGAIN);
    rb_buf_append(&s->in, chunk, (size_t)n);
    take_lines(s);
    return true;
}

// --- what is at work

static void leave_run(struct server *s, pid_t pid)
{
    if (pid <= 0)
        return;
    s->begun = rb_xrealloc(s->begun, (size_t)(s->n_begun + 1), sizeof *s->begun);
    s->begun[s->n_begun++] = pid;
}

static void reap(struct server *s)
{
    for (int i = s->n_begun - 1; i >= 0; i--)
        if (waitpid(s->begun[i], NULL, WNOHANG) == s->begun[i])
            s->begun[i] = s->begun[--s->n_begun];
}

// True: the call is over. It has begun a run, or could not.
static bool look_at_begin(struct server *s, struct rb_mcp_call *call)
{
    char run[128], json[160];
    bool over;
    int status = 0;
    rb_mcp_call_look(call, run, &over, &status);
    if (!run[0] && !over)
        return false;
    if (run[0]) {
        snprintf(json, sizeof json, "{\"run\":\"%s\"}", run);
        leave_run(s, call->pid);
        call->pid = 0;
    }
    if (call->cancelled)
        return true;
    if (run[0])
        rb_mcp_answer_with(call, json, &s->out);
    else
        rb_mcp_answer(s->setting, call, status, &s->out);
    return true;
}

static bool is_over(struct server *s, struct rb_mcp_call *call)
{
    if (call->work.begins_run)
        return look_at_begin(s, call);
    if (!rb_mcp_call_read(call))
        return false;
    const int status = rb_mcp_call_wait(call);
    if (!call->cancelled)
        rb_mcp_answer(s->setting, call, status, &s->out);
    return true;
}

static void look_at_calls(struct server *s)
{
    for (int i = s->n_calls - 1; i >= 0; i--) {
        struct rb_mcp_call *call = s->calls[i];
        if (is_over(s, call))
            remove_call(s, i);
        else if (rb_clock_monotonic_us() - call->started_us > call->n_progress * (int64_t)PROGRESS_US)
            report_progress(s, call, "at work");
    }
    reap(s);
}

static int gather(const struct server *s, struct pollfd *fds, int *out_timeout_ms)
{
    int n = 0;
    *out_timeout_ms = s->n_begun > 0 ? PROGRESS_US / 1000 : -1;
    fds[n++] = (struct pollfd){.fd = s->in_fd, .events = POLLIN};
    for (int i = 0; i < s->n_calls; i++) {
        const struct rb_mcp_call *call = s->calls[i];
        if (call->work.begins_run) {
            *out_timeout_ms = LOOK_MS;
            continue;
        }
        if (call->token[0] && *out_timeout_ms < 0)
            *out_timeout_ms = PROGRESS_US / 1000;
        if (call->out_fd >= 0)
            fds[n++] = (struct pollfd){.fd = call->out_fd, .events = POLLIN};
        if (call->err_fd >= 0)
            fds[n++] = (struct pollfd){.fd = call->err_fd, .events = POLLIN};
    }
    return n;
}

static void end_all(struct server *s)
{
    while (s->n_calls > 0) {
        struct rb_mcp_call *call = s->calls[0];
        rb_mcp_call_end(call);
        if (!call->work.goes_on)
            rb_mcp_call_wait(call);
        remove_call(s, 0);
    }
    free(s->begun);
    rb_buf_finish(&s->in);
    rb_buf_finish(&s->out);
}

bool rb_mcp_serve(struct rb_mcp_setting *setting, int in_fd, int out_fd, const volatile int *stop)
{
    struct server s = {.setting = setting, .in_fd = in_fd, .out_fd = out_fd};
    bool open = true;
    while (open && !*stop && !s.deaf) {
        struct pollfd fds[1 + 2 * RB_LIMIT_MCP_CALLS];
        int timeout_ms;
        const int n = gather(&s, fds, &timeout_ms);
        if (poll(fds, (nfds_t)n, timeout_ms) < 0 && errno != EINTR)
            break;
        if (fds[0].revents)
            open = take_input(&s);
        look_at_calls(&s);
        flush(&s);
    }
    const bool ok = !s.deaf;
    end_all(&s);
    return ok;
}
