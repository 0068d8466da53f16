// What has become of the machines of one launch in one zone, asked one by one, by their names: of each that is not there
// the operations tell whether it was made and ended, or never came.
#ifndef RB_PROVIDERS_GCP_MEMBERS_H
#define RB_PROVIDERS_GCP_MEMBERS_H

#include "providers/gcp/google_client.h"
#include "providers/provider.h"

struct rb_gcp_members_question {
    const char *region, *zone, *launch_id; // outlive the question, as all of it
    const char *const *names;              // [n]
    int n;
    bool over; // the operation that makes them is: what is not there now never will be
};

struct rb_gcp_members {
    struct rb_instance *instances; // [n], those that never came without an id
    int n;
    int n_there, n_ended;
    bool forgotten; // of some that are not there nobody may tell us what became of them
};

// err: nobody knows. NOT_FOUND: one is not there, and the operation is not over. INVALID: there is one of that name, and it
// is another launch's.
typedef void rb_gcp_members_fn(void *arg, const struct rb_err *err, const struct rb_gcp_members *members);

// Decoded values live in the arena. fn is called once, from the loop; or drop if the client is destroyed first.
void rb_gcp_members(struct rb_google_client *client, const struct rb_gcp_members_question *question,
                    struct rb_arena *arena, rb_gcp_members_fn *fn, void (*drop)(void *arg), void *arg);

#endif
