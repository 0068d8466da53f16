// Builds a document; only the parsers use this. Nodes are added in file order below the container that was opened last.
// Depth, number of nodes and duplicate keys are checked here, once for all formats.
#ifndef RB_BASE_DOC_BUILD_H
#define RB_BASE_DOC_BUILD_H

#include "base/document/doc.h"
#include "base/limits.h"

struct rb_doc_builder {
    struct rb_doc built;
    struct rb_doc *in_arena; // what nodes point to
    int depth, n_nodes;
    struct {
        struct rb_node *node, *last_child;
    } open[RB_LIMIT_DOC_DEPTH];
    struct rb_node *root;
    const char *key;     // key of the next node, NULL: none yet
    int key_line, key_column;
};

void rb_doc_builder_init(struct rb_doc_builder *b, const char *file);
void rb_doc_builder_finish(struct rb_doc_builder *b); // frees what was built unless it was delivered

// The next node belongs to this key. The bytes are copied.
void rb_doc_builder_key(struct rb_doc_builder *b, const char *key, size_t n, int line, int column);
// Adds a node of this kind; the caller fills in its remaining fields. NULL: too many nodes.
struct rb_node *rb_doc_builder_add(struct rb_doc_builder *b, enum rb_node_kind kind, int line, int column,
                                   struct rb_err *err);
// Opens the list or map added last; closes the one opened last.
bool rb_doc_builder_open(struct rb_doc_builder *b, struct rb_node *container, struct rb_err *err);
bool rb_doc_builder_close(struct rb_doc_builder *b, struct rb_err *err);
void rb_doc_builder_deliver(struct rb_doc_builder *b, struct rb_doc *out);

// The container open now, NULL at the top.
const struct rb_node *rb_doc_builder_inside(const struct rb_doc_builder *b);
// Error at a place of the file being read. Returns false.
bool rb_doc_builder_error(const struct rb_doc_builder *b, int line, int column, struct rb_err *err, const char *fmt,
                          ...) __attribute__((format(printf, 5, 6)));

#endif
