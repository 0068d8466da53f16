// Finds out what happened to the machines of one launch in one zone, one by one, by their names. For each that does not
// exist, the operations show whether it was created and ended, or never created.
#ifndef RB_PROVIDERS_GCP_MEMBERS_H
#define RB_PROVIDERS_GCP_MEMBERS_H

#include "providers/gcp/google_client.h"
#include "providers/provider.h"

struct rb_gcp_members_question {
    const char *region, *zone, *launch_id; // outlive the question, as all of it
    const char *const *names;              // [n]
    int n;
    bool over; // the operation that creates them has ended: missing ones will not come
};

struct rb_gcp_members {
    struct rb_instance *instances; // [n], those that were never created have no id
    int n;
    int n_there, n_ended;
    bool forgotten; // we may not read what happened to some that do not exist
};

// err: the outcome is unknown. NOT_FOUND: one does not exist, and the operation is not over. INVALID: an instance of
// that name exists and belongs to another launch.
typedef void rb_gcp_members_fn(void *arg, const struct rb_err *err, const struct rb_gcp_members *members);

// Decoded values live in the arena. fn is called once, from the loop; or drop if the client is destroyed first.
void rb_gcp_members(struct rb_google_client *client, const struct rb_gcp_members_question *question,
                    struct rb_arena *arena, rb_gcp_members_fn *fn, void (*drop)(void *arg), void *arg);

#endif
