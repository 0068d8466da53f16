// Everything that a tool returns is data from strangers: job files, names of metrics, output of scripts, words of a cloud. It
// goes into data fields only, and through here.
#ifndef RB_COMMANDS_RBMCP_CLEAN_H
#define RB_COMMANDS_RBMCP_CLEAN_H

#include "base/document/doc.h"
#include "base/document/json.h"

// A parsed value again, with every string and key cleaned.
void rb_mcp_write_clean(struct rb_json *j, const struct rb_node *node);
// A text without control characters but newline and tab, without the values of our environment's secrets, and of at most
// RB_LIMIT_MCP_TEXT bytes. Appends.
void rb_mcp_clean_text(const char *text, size_t n, struct rb_buf *out);

#endif
