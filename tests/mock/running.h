// A real rbmock in a process of its own, with a small fast cloud, and what a test asks of it over HTTP and ssh.
#ifndef RB_TESTS_MOCK_RUNNING_H
#define RB_TESTS_MOCK_RUNNING_H

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/document/doc.h"

#include <stdbool.h>
#include <sys/types.h>

struct running {
    char dir[64];        // temporary: cloud.yaml, keys, state/
    pid_t pid;
    int port, gcp_port, ssh_port;
    struct rb_arena arena;
};

// Waits for the ready line. extra: more arguments, NULL-terminated, or NULL. Fails the test if it does not come up.
void running_start(struct running *r, const char *const *extra);
// SIGTERM; returns its exit status. Removes the directory.
int running_stop(struct running *r);

struct reply {
    int status;       // 0: the connection was closed without a word
    const char *body; // in the arena of r
};
struct reply running_get(struct running *r, const char *path);
struct reply running_post(struct running *r, const char *path);               // no body, unsigned
struct reply running_ec2(struct running *r, const char *action, const char *rest); // signed

struct reply running_gcp(struct running *r, const char *method, const char *path, const char *body); // of project `test`

// RunInstances of n g5.xlarge with this user data (NULL: none); ids go to out_ids.
void running_launch(struct running *r, const char *user_data, int n, char out_ids[][20]);
void running_launch_spot(struct running *r, const char *user_data, char out_id[static 20]); // one, on the spot market
void running_terminate(struct running *r, const char *id);
// A member of the instance's entry in /_rbmock/instances or the ledger, as text.
const char *running_instance(struct running *r, const char *id, const char *member);
const char *running_ledger(struct running *r, const char *id, const char *member);
// Polls until the member has the value, or another one; fails the test after 15 s.
void running_await(struct running *r, const char *id, const char *member, const char *value);
void running_await_change(struct running *r, const char *id, const char *member, const char *old_value);
// Polls until the file (relative to the directory) holds the words.
void running_await_words(struct running *r, const char *file, const char *words);

// cloud-config with this run's key, a known host key, and more lines.
const char *running_cloud_config(struct running *r, const char *more);
// Runs a command on the node with strict host key checking; its output goes to out (may be NULL). Returns the
// exit status.
int running_ssh(struct running *r, const char *id, const char *command, struct rb_buf *out);

// Runs a shell command; its output goes to out (may be NULL). Returns the exit status.
int run_shell(const char *command, struct rb_buf *out);
// Is there a process whose command line holds this word, zombies not counted?
bool process_exists(const char *word);
// Polls until it does (exists) or does not; false: not within 10 s.
bool await_process(const char *word, bool exists);

#endif
