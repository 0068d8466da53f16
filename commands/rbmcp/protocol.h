// The Model Context Protocol as lines of JSON-RPC 2.0, in both of its eras:
//   legacy   2024-11-05 to 2025-11-25: `initialize` agrees on a version, later messages do not name it.
//   modern   2026-07-28: no handshake; each request names its version in _meta, and each result says resultType.
// This module reads messages and writes answers. It knows no tool, no process and no file.
#ifndef RB_COMMANDS_RBMCP_PROTOCOL_H
#define RB_COMMANDS_RBMCP_PROTOCOL_H

#include "base/text/buf.h"
#include "base/document/doc.h"
#include "base/document/json.h"

#include <stdbool.h>

#define RB_MCP_MODERN "2026-07-28"
#define RB_MCP_NEWEST_LEGACY "2025-11-25"

enum rb_mcp_era { RB_MCP_ERA_LEGACY, RB_MCP_ERA_MODERN };

enum rb_mcp_error {
    RB_MCP_PARSE_ERROR = -32700,
    RB_MCP_INVALID_REQUEST = -32600,
    RB_MCP_METHOD_NOT_FOUND = -32601,
    RB_MCP_INVALID_PARAMS = -32602,
    RB_MCP_INTERNAL_ERROR = -32603,
    RB_MCP_NOT_FOUND = -32002,           // a resource, in the legacy era; the modern one says INVALID_PARAMS
    RB_MCP_VERSION_UNSUPPORTED = -32022, // data.supported lists what is
};

enum rb_mcp_kind {
    RB_MCP_REQUEST,
    RB_MCP_NOTIFICATION,
    RB_MCP_NOTHING, // an answer to a request that we never made: ignored
};

enum { RB_MCP_ID_BYTES = 256 }; // a longer id is refused

struct rb_mcp_message {
    enum rb_mcp_kind kind;
    enum rb_mcp_era era;
    char id[RB_MCP_ID_BYTES];    // as JSON; "": a notification
    char token[RB_MCP_ID_BYTES]; // of progress, as JSON; "": none is wanted
    const char *method;          // borrowed from the document, like params
    const struct rb_node *params; // a map; NULL: none
};

// One line. False: it is no message that can be carried out, and out has the line that answers it. *doc is to be finished
// either way.
bool rb_mcp_read(const char *line, size_t n, struct rb_doc *doc, struct rb_mcp_message *message, struct rb_buf *out);

// Lines of ours; each ends with a newline. id "": null.
void rb_mcp_error(struct rb_buf *out, const char *id, enum rb_mcp_error code, const char *message);
void rb_mcp_not_found(struct rb_buf *out, enum rb_mcp_era era, const char *id, const char *message); // a resource
// A result up to the members that the caller writes; end closes it. cached: it is one of a list, or of something that is read,
// for which the modern era says how long it holds.
void rb_mcp_begin_result(struct rb_json *j, struct rb_buf *out, enum rb_mcp_era era, const char *id, bool cached);
void rb_mcp_end_result(struct rb_json *j);
void rb_mcp_progress(struct rb_buf *out, const char *token, int progress, const char *message);

// The version that answers an `initialize` which asks for this one.
const char *rb_mcp_agree(const char *asked);
// The members of a result of `initialize` or `server/discover`.
void rb_mcp_write_self(struct rb_json *j, enum rb_mcp_era era, const char *version, const char *instructions);

#endif
