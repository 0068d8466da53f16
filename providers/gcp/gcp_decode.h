// Reads values from the JSON answers of the Compute Engine API. Pure. Answers are untrusted: identifiers and addresses
// are checked, because callers use them on command lines. Unknown fields are ignored.
#ifndef RB_PROVIDERS_GCP_DECODE_H
#define RB_PROVIDERS_GCP_DECODE_H

#include "base/arena.h"
#include "providers/listing.h"

enum rb_gcp_progress {
    RB_GCP_UNDER_WAY,
    RB_GCP_DONE,      // it did what was asked
    RB_GCP_FAILED,    // it did nothing; why is in its error
    RB_GCP_UNSETTLED, // it failed, and may have done something: the instance has to be looked up
};
struct rb_gcp_operation {
    const char *name;
    enum rb_gcp_progress progress;
    struct rb_err error;
};
// Decoded values live in the arena. Errors of all of these: IO, naming the field.
bool rb_gcp_decode_operation(const char *body, size_t n, struct rb_arena *arena, struct rb_gcp_operation *out,
                             struct rb_err *err);
// When an instance ran, according to the operations on it; gathered over the pages of their list.
struct rb_gcp_history {
    bool is_known;                      // there was an operation
    bool preempted;                     // so it was Spot; otherwise its market is unknown
    int64_t running_at_us, ended_at_us; // -1: it never ran, or was not ended; the initial value of both
    const char *next_page;              // NULL: this was the last
};
bool rb_gcp_decode_history(const char *body, size_t n, struct rb_arena *arena, struct rb_gcp_history *inout,
                           struct rb_err *err);
bool rb_gcp_decode_instance(const char *body, size_t n, const char *region, struct rb_arena *arena,
                            struct rb_instance *out, struct rb_err *err);

// All labels of an instance, ours and others, with the fingerprint of this state.
struct rb_gcp_labelled {
    struct rb_tag *labels; // [n], as they are written there
    int n;
    const char *fingerprint;
};
bool rb_gcp_decode_labels(const char *body, size_t n, struct rb_arena *arena, struct rb_gcp_labelled *out,
                          struct rb_err *err);

bool rb_gcp_decode_list(const char *body, size_t n, const char *region, struct rb_arena *arena,
                        struct rb_instance_page *out, struct rb_err *err);

// Those in the region's zones; free is what no machine uses of one that is ready and has to be named.
bool rb_gcp_decode_reservations(const char *body, size_t n, const char *region, struct rb_arena *arena,
                                struct rb_reservation_page *out, struct rb_err *err);

struct rb_gcp_zones {
    const char **zones; // [n] of the region that hold what was asked for, by name
    int n;
    bool complete;
};
bool rb_gcp_decode_sold(const char *body, size_t n, const char *region, struct rb_arena *arena,
                        struct rb_gcp_zones *out, struct rb_err *err);

#endif
