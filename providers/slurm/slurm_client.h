// Sends requests to slurmrestd: finds its address and our credentials, and negotiates the version of its API
// once. Retries are in api_call.h.
#ifndef RB_PROVIDERS_SLURM_CLIENT_H
#define RB_PROVIDERS_SLURM_CLIENT_H

#include "providers/wire/api_call.h"

struct rb_node;

// Versions of the API (v0.0.38 is Slurm 22.05) whose fields we know. The newest that answers is taken.
enum { RB_SLURM_OLDEST_API = 38, RB_SLURM_NEWEST_API = 45 };

struct rb_slurm_request {
    const char *name;   // static: "submit"; for messages and traces
    const char *method; // static
    bool mutating;      // no answer means UNKNOWN_OUTCOME, not IO
    int max_tries;
    void *arg;
    // Writes what follows "/slurm/v0.0.NN" and the body, once the version is known.
    void (*write)(void *arg, int api, struct rb_buf *path, struct rb_buf *body);
    // Reads a 2xx answer, one that holds errors, too; false counts as an answer that got lost. NULL: nothing to read.
    bool (*decode)(void *arg, const struct rb_node *answer, struct rb_err *err);
    // Exactly one of the two is called, once, from the loop. slurm_error: its number, 0 if it gave none.
    void (*done)(void *arg, const struct rb_err *err, int slurm_error);
    void (*drop)(void *arg); // the client is being destroyed: free arg and call no one
};

struct rb_slurm_client_config {
    const struct rb_loop *loop;
    struct rb_http *http; // outlives the client
    const char *url;      // https://host:port, http://loopback:port, unix:/path; NULL: RB_SLURM_URL, which also wins
};

struct rb_slurm_client;

// The token is SLURM_JWT, or the content of the file RB_SLURM_JWT_FILE, which is read again whenever it is refused; on
// a unix socket neither is needed. Errors: INVALID (where), DENIED (who).
bool rb_slurm_client_create(const struct rb_slurm_client_config *config, struct rb_slurm_client **out,
                            struct rb_err *err);
void rb_slurm_client_destroy(struct rb_slurm_client *c); // NULL is fine; pending requests are dropped
// The user whose jobs are ours: the one the token names, or else the one who runs us.
const char *rb_slurm_client_user(const struct rb_slurm_client *c);
// When SLURM_JWT ends; unix, -1: not known, or the token is in a file, where another may come. Nothing renews the environment.
int64_t rb_slurm_client_ends_us(const struct rb_slurm_client *c);
void rb_slurm_send(struct rb_slurm_client *c, const struct rb_slurm_request *request);

#endif
