// One line of the Model Context Protocol: a message whose parts are sound, or one line that answers it and is JSON.
#include "commands/rbmcp/protocol.h"

#include "fuzz.h"
#include "require.h"

#include <string.h>

static void check_line(const struct rb_buf *line)
{
    struct rb_doc doc;
    require(line->len > 0 && line->data[line->len - 1] == '\n');
    require(!memchr(line->data, '\n', line->len - 1));
    require(rb_doc_parse_json(&doc, "answer", line->data, line->len, NULL));
    require(rb_node_member(doc.root, "error") && rb_node_member(doc.root, "id"));
    rb_doc_finish(&doc);
}

static void check_id(const char *id)
{
    struct rb_doc doc;
    if (!id[0])
        return;
    require(rb_doc_parse_json(&doc, "id", id, strlen(id), NULL));
    require(doc.root->kind == RB_NODE_STRING || doc.root->kind == RB_NODE_INT);
    rb_doc_finish(&doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_doc doc = {0};
    struct rb_mcp_message m;
    struct rb_buf out = RB_BUF_INIT;
    if (!rb_mcp_read((const char *)bytes, n, &doc, &m, &out)) {
        check_line(&out);
    } else {
        require(out.len == 0);
        require(m.kind == RB_MCP_NOTHING || m.method);
        require((m.kind == RB_MCP_REQUEST) == (m.kind != RB_MCP_NOTHING && m.id[0] != '\0'));
        require(!m.params || m.params->kind == RB_NODE_MAP);
        check_id(m.id);
        check_id(m.token);
    }
    rb_buf_finish(&out);
    rb_doc_finish(&doc);
    return 0;
}
