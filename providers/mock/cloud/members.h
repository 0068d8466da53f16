// Reads a map into a struct by a table of its members, strictly: a member that is in no row is an error.
//
//   static const struct rb_member step[] = {
//       {"after_s", RB_MEMBER_DOUBLE, offsetof(struct raw_step, after_s), .needed = true, .max = 1e9},
//       {"zone", RB_MEMBER_TEXT, offsetof(struct raw_step, zone)},
//       {0}};
#ifndef RB_PROVIDERS_MOCK_MEMBERS_H
#define RB_PROVIDERS_MOCK_MEMBERS_H

#include "base/document/doc.h"

#include <stddef.h>

enum rb_member_kind { // and the type of the field
    RB_MEMBER_TEXT,     // const char *; not empty where there is a `refusal`
    RB_MEMBER_WORD,     // const char *, one of the choices
    RB_MEMBER_CHOICE,   // int, the index of a choice
    RB_MEMBER_BOOL,     // bool
    RB_MEMBER_INT,      // int64_t in [min, max]; a number, or a text of one where is_text_too
    RB_MEMBER_DOUBLE,   // double in [min, max]
    RB_MEMBER_DURATION, // int64_t, microseconds
    RB_MEMBER_NODE,     // const struct rb_node *, for the caller to read
    RB_MEMBER_LIST,     // likewise, a list
    RB_MEMBER_MAP,      // likewise, a map; where there are `members` they are read into the same struct
    RB_MEMBER_ONLY,     // the element of a list that has at most one, which is such a map; `refusal` where it has more
    RB_MEMBER_EMPTY,    // const struct rb_node *, a map without members; `refusal` where it has some
};

enum { RB_MEMBER_IGNORED = -1 }; // checked, not kept

struct rb_member {
    const char *key; // NULL ends the table
    enum rb_member_kind kind;
    ptrdiff_t at;    // offset of the field, or RB_MEMBER_IGNORED
    bool needed, is_text_too;
    double min, max;
    const char *choices[5]; // NULL-terminated
    const struct rb_member *members;
    const char *refusal;
};

// Absent members leave their fields as they are. Texts go to the arena; arena NULL: they are the document's.
bool rb_members_read(const struct rb_node *map, const struct rb_member *members, struct rb_arena *arena, void *out,
                     struct rb_err *err);
// Optional members of a map whose others the caller reads.
bool rb_members_get(struct rb_map *m, const struct rb_member *members, struct rb_arena *arena, void *out,
                    struct rb_err *err);

#endif
