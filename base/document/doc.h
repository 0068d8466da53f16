// Reads YAML and JSON documents into one immutable tree. Every value keeps its place, so that an error can name file,
// line, column and the path of the key. YAML: 1.2 core rules by our own typed scalars
// (`1e-4` is a float, `no` is a string); aliases, anchors, tags, duplicate keys, NaN, several documents,
// depth > 64 and size > limits.h are refused. JSON: duplicate keys, NaN, trailing bytes refused likewise.
// Readers built on this reject what they do not know, with "did you mean".
#ifndef RB_BASE_DOC_H
#define RB_BASE_DOC_H

#include "base/arena.h"
#include "base/text/closest.h"
#include "base/errors/err.h"
#include "base/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rb_node_kind { RB_NODE_NULL, RB_NODE_BOOL, RB_NODE_INT, RB_NODE_FLOAT, RB_NODE_STRING, RB_NODE_LIST, RB_NODE_MAP };

struct rb_node {
    enum rb_node_kind kind;
    int line, column;             // of the value, from 1
    int key_line, key_column;     // of the key in a map; else 0
    const struct rb_doc *doc;     // a copy that stays where it is when the caller's struct rb_doc moves
    const struct rb_node *parent; // NULL at the root
    const char *key;              // in a map; else NULL
    int index;                    // position in the parent
    const char *text;             // scalars: the text as written (decoded), NUL-terminated
    size_t text_len;              // text holds no NUL byte: the parsers refuse it
    bool boolean;
    int64_t integer;              // RB_NODE_INT; integers beyond int64 are RB_NODE_FLOAT
    double number;                // RB_NODE_INT and RB_NODE_FLOAT, always finite
    const struct rb_node *first;  // children of lists and maps, in file order
    const struct rb_node *next;   // sibling
    int n_children;
};

struct rb_doc {
    struct rb_arena arena;
    const char *file; // as given; used in errors
    const struct rb_node *root;
};

// Each initialises *out; finish with rb_doc_finish. On failure *out is untouched. "-" reads stdin.
bool rb_doc_read(struct rb_doc *out, const char *path, struct rb_err *err); // .json as JSON, everything else as YAML
bool rb_doc_parse_yaml(struct rb_doc *out, const char *name, const char *bytes, size_t n, struct rb_err *err);
bool rb_doc_parse_json(struct rb_doc *out, const char *name, const char *bytes, size_t n, struct rb_err *err);
void rb_doc_finish(struct rb_doc *doc); // accepts a zeroed doc

struct rb_place rb_node_place(const struct rb_node *node);
// Path such as "resources.instance_types[2]"; written into out, truncated at size.
char *rb_node_path(const struct rb_node *node, char *out, size_t size);
// Error at the node: place and path filled in. `number` is an enum rb_err_number. Returns false.
bool rb_node_refuse(const struct rb_node *node, struct rb_err *err, int number, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

// Member of a map; NULL if absent, or if node is NULL or no map. For documents of other programs, whose unknown keys
// are no error.
const struct rb_node *rb_node_member(const struct rb_node *node, const char *key);
// The text of a member that is a string; "": there is none.
const char *rb_node_member_text(const struct rb_node *node, const char *key);
const struct rb_node *rb_node_first(const struct rb_node *list); // NULL: it is empty, or no list

// Typed reads of one node. NULL node or wrong kind: error naming the path and what was expected.
bool rb_node_string(const struct rb_node *node, const char **out, struct rb_err *err); // borrowed from the doc
bool rb_node_bool(const struct rb_node *node, bool *out, struct rb_err *err);
bool rb_node_int(const struct rb_node *node, int64_t min, int64_t max, int64_t *out, struct rb_err *err);
bool rb_node_double(const struct rb_node *node, double min, double max, double *out, struct rb_err *err); // ints too
bool rb_node_duration(const struct rb_node *node, int64_t *out_us, struct rb_err *err); // "2h"; see units.h
bool rb_node_money(const struct rb_node *node, int64_t *out_uusd, struct rb_err *err);  // 40, 18.4 or "18.40"
bool rb_node_list(const struct rb_node *node, struct rb_err *err);                      // is it a list?
// Is it a list of at most `most` elements? what: their name in the error, such as "entries".
bool rb_node_list_of(const struct rb_node *node, int most, const char *what, struct rb_err *err);
// One of n names -> its index.
bool rb_node_choice(const struct rb_node *node, const char *const *names, int n, int *out, struct rb_err *err);

// Reads a map strictly: begin, get each known key, end. rb_map_end fails on the first key that was never requested, and
// suggests the closest of the requested ones.
struct rb_map {
    const struct rb_node *node;
    const char *asked[64]; // keys requested so far
    int n_asked;
};
bool rb_map_begin(struct rb_map *m, const struct rb_node *node, struct rb_err *err);
const struct rb_node *rb_map_get(struct rb_map *m, const char *key);                     // NULL if absent
bool rb_map_need(struct rb_map *m, const char *key, const struct rb_node **out, struct rb_err *err);
// Required members by type.
bool rb_map_need_int(struct rb_map *m, const char *key, int64_t min, int64_t max, int64_t *out, struct rb_err *err);
bool rb_map_need_count(struct rb_map *m, const char *key, int min, int max, int *out, struct rb_err *err);
bool rb_map_need_double(struct rb_map *m, const char *key, double min, double max, double *out, struct rb_err *err);
bool rb_map_need_list(struct rb_map *m, const char *key, const struct rb_node **out, struct rb_err *err);
bool rb_map_need_choice(struct rb_map *m, const char *key, const char *const *names, int n, int *out, struct rb_err *err);
bool rb_map_end(struct rb_map *m, struct rb_err *err);
// Refuses a map's key for not being one of n; always false.
bool rb_node_refuse_key(const struct rb_node *child, const char *const *keys, int n, struct rb_err *err);

#endif
