#include "views/pages/document.h"

#include <string.h>

const struct rb_node *rb_document_member(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_node_member(map, key);
    return n && n->kind != RB_NODE_NULL ? n : NULL;
}

const struct rb_node *rb_document_at(const struct rb_node *map, const char *path)
{
    char key[64];
    while (map && *path) {
        const size_t n = strcspn(path, ".");
        if (n >= sizeof key)
            return NULL;
        memcpy(key, path, n);
        key[n] = '\0';
        map = rb_document_member(map, key);
        path += n + (path[n] == '.');
    }
    return map;
}

const struct rb_node *rb_document_items(const struct rb_node *map, const char *key)
{
    const struct rb_node *list = rb_document_member(map, key);
    return list && list->kind == RB_NODE_LIST ? list->first : NULL;
}

int64_t rb_document_int(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_document_member(map, key);
    return n && n->kind == RB_NODE_INT ? n->integer : -1;
}

const char *rb_document_text(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_document_member(map, key);
    return n && n->kind == RB_NODE_STRING ? n->text : "";
}

bool rb_document_flag(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_document_member(map, key);
    return n && n->kind == RB_NODE_BOOL && n->boolean;
}
