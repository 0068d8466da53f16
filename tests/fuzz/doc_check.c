#include "doc_check.h"

#include "base/document/json.h"
#include "base/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_node(const struct rb_doc *doc, const struct rb_node *node, int depth)
{
    char path[64];
    require(depth <= RB_LIMIT_DOC_DEPTH);
    require(node->line > 0 && node->column > 0);
    require(strcmp(node->doc->file, doc->file) == 0);
    require(strlen(node->text) == node->text_len);
    require(isfinite(node->number));
    require(strlen(rb_node_path(node, path, sizeof path)) < sizeof path);
    int n = 0;
    for (const struct rb_node *child = node->first; child; child = child->next, n++) {
        require(child->parent == node && child->index == n);
        require((node->kind == RB_NODE_MAP) == (child->key != NULL));
        require(!child->key || (child->key_line > 0 && child->key_column > 0));
        check_node(doc, child, depth + 1);
    }
    require(n == node->n_children);
    require(n == 0 || node->kind == RB_NODE_LIST || node->kind == RB_NODE_MAP);
}

static void write_json(struct rb_buf *out, const struct rb_doc *doc)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_node(&j, doc->root);
}

void check_doc(const struct rb_doc *doc)
{
    check_node(doc, doc->root, 0);
    struct rb_buf once = RB_BUF_INIT, twice = RB_BUF_INIT;
    struct rb_doc again;
    write_json(&once, doc);
    require(rb_doc_parse_json(&again, "again.json", once.data, once.len, NULL));
    write_json(&twice, &again);
    require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    rb_doc_finish(&again);
    rb_buf_finish(&once);
    rb_buf_finish(&twice);
}

void check_error(const struct rb_err *err, const char *file)
{
    require(err->code == RB_ERR_INVALID);
    require(strcmp(err->file, file) == 0);
    require(err->line > 0);
    require(err->message[0] != '\0');
    for (const char *s = err->message; *s; s++)
        require((unsigned char)*s >= 0x20);
}
