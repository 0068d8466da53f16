// Lists the instances and the reservations of a cloud page by page, and the shared part of renewing their leases.
#ifndef RB_PROVIDERS_LISTING_H
#define RB_PROVIDERS_LISTING_H

#include "providers/provider.h"
#include "providers/wire/api_call.h"

struct rb_instance_page {
    struct rb_instance *instances; // [n]
    int n;
    bool complete;                 // false: a part of the cloud did not answer
    const char *next_page;         // NULL: this was the last
};

struct rb_list_source {
    const char *call_name;
    bool (*decode)(void *cloud, const char *run_id, const char *body, size_t n, struct rb_arena *arena,
                   struct rb_instance_page *out, struct rb_err *err);
    // Adds the request to the call and sends it. page NULL: the first.
    void (*send)(void *cloud, const char *run_id, const char *page, struct rb_api_call *call);
};
// The provider's list: gathers all pages and calls fn once. When a page does not come, what was read before it is
// reported as incomplete: absence proves nothing then. source and cloud outlive the listing.
void rb_list_instances(const struct rb_list_source *source, void *cloud, const char *run_id, rb_list_fn *fn, void *arg);

struct rb_reservation_page {
    struct rb_reservation *reservations; // [n]; of one that has begun, what nothing uses
    int n;
    bool incomplete;                     // a part of the cloud did not answer
    const char *next_page;               // NULL: this was the last
};

struct rb_reservation_source {
    const char *call_name;
    bool (*decode)(void *cloud, const char *body, size_t n, struct rb_arena *arena, struct rb_reservation_page *out,
                   struct rb_err *err);
    void (*send)(void *cloud, const char *page, struct rb_api_call *call); // as above
};
// The provider's reservations: all pages, or an error; one that is missing would seem not to be there.
void rb_list_reservations(const struct rb_reservation_source *source, void *cloud, rb_reservations_fn *fn, void *arg);

// The lease of some instances, written in several requests.
struct rb_renewal {
    struct rb_arena arena;
    const char **ids; // [n]
    int n;
    struct rb_tag lease;
    int n_open;        // requests, or series of them
    struct rb_err err; // the first failure; code NONE: none failed
    const char *right; // what DENIED asks for
    rb_terminate_fn *fn;
    void *arg;
};
struct rb_renewal *rb_renewal_create(const char *const *ids, int n, const struct rb_tag *lease, const char *right,
                                     rb_terminate_fn *fn, void *arg);
// Instances that no longer exist are no failure. err NULL: none.
void rb_renewal_note(struct rb_renewal *r, const struct rb_err *err);
// One of the open requests has ended (dropped: the client goes); the last one calls fn, unless dropped, and frees the
// renewal.
void rb_renewal_close(struct rb_renewal *r, bool dropped);

#endif
