#include "commands/rbmcp/results.h"

#include "commands/rbmcp/clean.h"
#include "commands/rbmcp/kept_plans.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// --- tools

static void put_text(struct rb_json *j, const char *text)
{
    rb_json_put(j, "{type: 'text' text: %s}", text);
}

static void answer(const struct rb_mcp_call *call, const char *json, const char *more, bool failed, struct rb_buf *out)
{
    struct rb_json j;
    rb_mcp_begin_result(&j, out, call->era, call->id, false);
    rb_json_karray(&j, "content");
    put_text(&j, json);
    if (more[0])
        put_text(&j, more);
    rb_json_end_array(&j);
    if (failed) {
        rb_json_kbool(&j, "isError", true);
    } else {
        rb_buf_puts(out, ",\"structuredContent\":");
        rb_buf_puts(out, json);
    }
    rb_mcp_end_result(&j);
}

void rb_mcp_answer_with(const struct rb_mcp_call *call, const char *json, struct rb_buf *out)
{
    answer(call, json, "", false, out);
}

// Through a document, so that its words are cleaned like those of any program.
void rb_mcp_answer_error(const struct rb_mcp_call *call, const struct rb_err *err, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT, clean = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    rb_err_write_json(err, &text);
    if (!rb_doc_parse_json(&doc, "error", rb_buf_str(&text), text.len, NULL)) {
        rb_mcp_error(out, call->id, RB_MCP_INTERNAL_ERROR, "the error cannot be written");
        return;
    }
    struct rb_json j = {.out = &clean};
    rb_mcp_write_clean(&j, doc.root);
    answer(call, rb_buf_str(&clean), "", true, out);
}

// Its only document, or the last of its lines.
static bool parse(const struct rb_mcp_call *call, struct rb_doc *out)
{
    const char *text = rb_buf_str(&call->out);
    size_t n = call->out.len;
    while (n > 0 && text[n - 1] == '\n')
        n--;
    const char *last = memrchr(text, '\n', n);
    if (!call->work.last_line && rb_doc_parse_json(out, "output", text, n, NULL))
        return true;
    last = last ? last + 1 : text;
    return rb_doc_parse_json(out, "output", last, (size_t)(text + n - last), NULL);
}

static bool is_format(const struct rb_doc *doc, const char *format)
{
    const struct rb_node *node = rb_node_member(doc->root, "format");
    return node && node->kind == RB_NODE_STRING && strcmp(node->text, format) == 0;
}

// The plan under its digest, where approve and run find it; what to say of that.
static void keep_plan(struct rb_mcp_setting *s, struct rb_mcp_call *call, struct rb_buf *out_more)
{
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    char digest[65];
    size_t n;
    if (!rb_read_file(call->work.keep, RB_LIMIT_PLAN_BYTES, &bytes, &n, NULL))
        return;
    rb_digest_sha256(bytes, n, digest);
    if (!rb_mcp_plans_keep(s->sandbox.plans, call->work.keep, digest))
        return;
    struct rb_json j = {.out = out_more};
    rb_json_put(&j, "{plan: 'rb://plans/%s' plan_sha256: %s}", digest, digest);
}

static void answer_tool(struct rb_mcp_setting *s, struct rb_mcp_call *call, int status, struct rb_buf *out)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf clean = RB_BUF_INIT, more = RB_BUF_INIT;
    const char *program = strrchr(call->work.argv[0], '/') + 1;
    const bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    struct rb_err err;
    if (call->too_long || !parse(call, &doc)) {
        if (call->too_long)
            rb_err_set(&err, RB_E_MCP_OUTPUT, "%s printed more than %d bytes; run it in a terminal", program,
                       RB_LIMIT_MCP_OUTPUT);
        else
            rb_err_set(&err, RB_E_MCP_OUTPUT, "%s ended with %s %d and printed no JSON; run it in a terminal", program,
                       WIFSIGNALED(status) ? "signal" : "exit code",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        rb_mcp_answer_error(call, &err, out);
        return;
    }
    const bool failed =
        is_format(&doc, "rb-error/1") || is_format(&doc, "rb-infeasible/1") || (!ended_well && !call->work.last_line);
    struct rb_json j = {.out = &clean};
    rb_mcp_write_clean(&j, doc.root);
    if (!failed && call->work.keep)
        keep_plan(s, call, &more);
    if (call->work.explains)
        rb_mcp_clean_text(rb_buf_str(&call->err), call->err.len, &more);
    answer(call, rb_buf_str(&clean), rb_buf_str(&more), failed, out);
}

// --- resources

static void answer_contents(const struct rb_mcp_call *call, const char *type, const char *text, struct rb_buf *out)
{
    struct rb_json j;
    rb_mcp_begin_result(&j, out, call->era, call->id, true);
    rb_json_put(&j, "contents: [{uri: %s mimeType: %s text: %s}]", call->uri, type, text);
    rb_mcp_end_result(&j);
}

static void answer_runs(const struct rb_mcp_call *call, const struct rb_doc *doc, struct rb_buf *out)
{
    const struct rb_node *runs = rb_node_member(doc->root, "runs");
    struct rb_json j;
    rb_mcp_begin_result(&j, out, call->era, call->id, true);
    rb_json_karray(&j, "resources");
    for (const struct rb_node *run = runs ? runs->first : NULL; run; run = run->next) {
        const struct rb_node *id = rb_node_member(run, "run");
        if (id && id->kind == RB_NODE_STRING && rb_mcp_is_run_id(id->text))
            rb_json_put(&j, "{uri: 'rb://runs/%s/report' name: %s mimeType: 'application/json'}", id->text, id->text);
    }
    rb_json_end_array(&j);
    rb_mcp_end_result(&j);
}

static void answer_resource(const struct rb_mcp_call *call, int status, struct rb_buf *out)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf clean = RB_BUF_INIT;
    struct rb_json j;
    const bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !call->too_long;
    if (ok && call->purpose == RB_MCP_FOR_ERROR) {
        rb_mcp_clean_text(rb_buf_str(&call->out), call->out.len, &clean);
        answer_contents(call, "text/plain", rb_buf_str(&clean), out);
    } else if (call->purpose == RB_MCP_FOR_RUNS) { // none, if they cannot be listed
        if (!ok || !parse(call, &doc))
            doc = (struct rb_doc){0};
        answer_runs(call, &doc, out);
    } else if (ok && parse(call, &doc)) {
        rb_json_init(&j, &clean, false);
        rb_mcp_write_clean(&j, doc.root);
        answer_contents(call, "application/json", rb_buf_str(&clean), out);
    } else {
        rb_mcp_not_found(out, call->era, call->id, "there is no such resource");
    }
}

void rb_mcp_answer(struct rb_mcp_setting *s, struct rb_mcp_call *call, int status, struct rb_buf *out)
{
    if (call->purpose == RB_MCP_FOR_TOOL)
        answer_tool(s, call, status, out);
    else
        answer_resource(call, status, out);
}
