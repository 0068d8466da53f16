#include "commands/rbmcp/protocol.h"

#include <stdio.h>
#include <string.h>

#define META_VERSION "io.modelcontextprotocol/protocolVersion"

static const char *const legacy[] = {"2024-11-05", "2025-03-26", "2025-06-18", RB_MCP_NEWEST_LEGACY};
enum { N_LEGACY = sizeof legacy / sizeof *legacy, TTL_MS = 0 };

// --- lines of ours

static void begin(struct rb_json *j, struct rb_buf *out, const char *id)
{
    rb_json_init(j, out, false);
    rb_buf_puts(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    rb_buf_puts(out, id[0] ? id : "null");
}

static void begin_error(struct rb_buf *out, const char *id, int code, const char *message)
{
    struct rb_json j;
    begin(&j, out, id);
    rb_buf_printf(out, ",\"error\":{\"code\":%d,\"message\":", code);
    rb_json_string(&j, message);
}

void rb_mcp_error(struct rb_buf *out, const char *id, enum rb_mcp_error code, const char *message)
{
    begin_error(out, id, code, message);
    rb_buf_puts(out, "}}\n");
}

void rb_mcp_not_found(struct rb_buf *out, enum rb_mcp_era era, const char *id, const char *message)
{
    rb_mcp_error(out, id, era == RB_MCP_ERA_MODERN ? RB_MCP_INVALID_PARAMS : RB_MCP_NOT_FOUND, message);
}

static void unsupported(struct rb_buf *out, const char *id, const char *asked)
{
    begin_error(out, id, RB_MCP_VERSION_UNSUPPORTED, "unsupported protocol version");
    rb_buf_puts(out, ",\"data\":{\"supported\":[\"" RB_MCP_MODERN "\"],\"requested\":");
    struct rb_json j = {.out = out};
    rb_json_string(&j, asked);
    rb_buf_puts(out, "}}}\n");
}

void rb_mcp_begin_result(struct rb_json *j, struct rb_buf *out, enum rb_mcp_era era, const char *id, bool cached)
{
    begin(j, out, id);
    rb_buf_puts(out, ",\"result\":");
    rb_json_begin_object(j);
    if (era != RB_MCP_ERA_MODERN)
        return;
    rb_json_kstring(j, "resultType", "complete");
    if (!cached)
        return;
    rb_json_kint(j, "ttlMs", TTL_MS); // a run's report changes while it runs
    rb_json_kstring(j, "cacheScope", "private");
}

void rb_mcp_end_result(struct rb_json *j)
{
    rb_json_end_object(j);
    rb_buf_puts(j->out, "}\n");
}

void rb_mcp_progress(struct rb_buf *out, const char *token, int progress, const char *message)
{
    rb_buf_printf(out,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,"
                  "\"progress\":%d,\"message\":",
                  token, progress);
    struct rb_json j = {.out = out};
    rb_json_string(&j, message);
    rb_buf_puts(out, "}}\n");
}

// --- versions

const char *rb_mcp_agree(const char *asked)
{
    for (int i = 0; i < N_LEGACY; i++)
        if (strcmp(asked, legacy[i]) == 0)
            return legacy[i];
    return RB_MCP_NEWEST_LEGACY;
}

void rb_mcp_write_self(struct rb_json *j, enum rb_mcp_era era, const char *version, const char *instructions)
{
    if (era == RB_MCP_ERA_MODERN) {
        rb_json_put(j, "supportedVersions: [%s]", RB_MCP_MODERN);
    } else {
        rb_json_kstring(j, "protocolVersion", version);
    }
    rb_json_put(j, "capabilities: {tools: {listChanged: false} resources: {subscribe: false listChanged: false} "
                   "prompts: {listChanged: false}}");
    rb_json_put(j, "serverInfo: {name: 'rbmcp' title: 'Rubberband' version: %s} instructions: %s|null", RB_VERSION,
                instructions);
}

// --- reading

static bool is_id(const struct rb_node *node)
{
    return node && (node->kind == RB_NODE_INT || node->kind == RB_NODE_STRING);
}

// An id or a token as the JSON that it was. False: it is too long.
static bool copy_id(const struct rb_node *node, char out[static RB_MCP_ID_BYTES])
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j = {.out = &text};
    rb_json_node(&j, node);
    if (text.len >= RB_MCP_ID_BYTES)
        return false;
    memcpy(out, rb_buf_str(&text), text.len + 1);
    return true;
}

static const char *string_member(const struct rb_node *map, const char *key)
{
    const struct rb_node *node = rb_node_member(map, key);
    return node && node->kind == RB_NODE_STRING ? node->text : NULL;
}

static bool refuse(struct rb_buf *out, const char *id, enum rb_mcp_error code, const char *why)
{
    rb_mcp_error(out, id, code, why);
    return false;
}

// What _meta says: the era, and the token.
static bool read_meta(struct rb_mcp_message *m, struct rb_buf *out)
{
    const struct rb_node *meta = rb_node_member(m->params, "_meta");
    const struct rb_node *token = rb_node_member(meta, "progressToken"), *version = rb_node_member(meta, META_VERSION);
    if (is_id(token) && !copy_id(token, m->token))
        return m->kind == RB_MCP_NOTIFICATION || refuse(out, m->id, RB_MCP_INVALID_PARAMS, "progressToken is too long");
    if (!version)
        return true;
    m->era = RB_MCP_ERA_MODERN;
    if (m->kind == RB_MCP_NOTIFICATION)
        return true;
    if (version->kind != RB_NODE_STRING)
        return refuse(out, m->id, RB_MCP_INVALID_PARAMS, "_meta: " META_VERSION " must be a string");
    if (strcmp(version->text, RB_MCP_MODERN) == 0)
        return true;
    unsupported(out, m->id, version->text);
    return false;
}

static bool read_params(const struct rb_node *root, struct rb_mcp_message *m, struct rb_buf *out)
{
    m->params = rb_node_member(root, "params");
    if (m->params && m->params->kind != RB_NODE_MAP) {
        m->params = NULL;
        return m->kind == RB_MCP_NOTIFICATION || refuse(out, m->id, RB_MCP_INVALID_PARAMS, "params must be an object");
    }
    return read_meta(m, out);
}

static bool read_message(const struct rb_node *root, struct rb_mcp_message *m, struct rb_buf *out)
{
    if (root->kind != RB_NODE_MAP)
        return refuse(out, "", RB_MCP_INVALID_REQUEST,
                      "expected one JSON-RPC object on a line; batches are not served");
    const struct rb_node *id = rb_node_member(root, "id");
    const char *version = string_member(root, "jsonrpc");
    if (is_id(id) && !copy_id(id, m->id))
        return refuse(out, "", RB_MCP_INVALID_REQUEST, "the id is too long");
    if (!version || strcmp(version, "2.0") != 0)
        return refuse(out, m->id, RB_MCP_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
    m->method = string_member(root, "method");
    if (!m->method) {
        m->kind = RB_MCP_NOTHING;
        return rb_node_member(root, "result") || rb_node_member(root, "error") ||
               refuse(out, m->id, RB_MCP_INVALID_REQUEST, "method must be a string");
    }
    if (id && !is_id(id))
        return refuse(out, "", RB_MCP_INVALID_REQUEST, "the id must be a string or a whole number");
    m->kind = id ? RB_MCP_REQUEST : RB_MCP_NOTIFICATION;
    return read_params(root, m, out);
}

bool rb_mcp_read(const char *line, size_t n, struct rb_doc *doc, struct rb_mcp_message *message, struct rb_buf *out)
{
    struct rb_err err;
    *message = (struct rb_mcp_message){0};
    if (!rb_doc_parse_json(doc, "line", line, n, &err))
        return refuse(out, "", RB_MCP_PARSE_ERROR, err.message);
    return read_message(doc->root, message, out);
}
