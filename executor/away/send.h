// Starts a run on another host, which carries it out from then on; nothing is handed over later. Sent are this program
// (once for each version), the plan, and what nodes get of the job's folder; the values of the job's secrets go from memory
// to memory. Credentials of clouds are not sent: the host needs its own, and its checks before the run ask for them.
//
// Whenever this process dies, there is one such run at most: its id is chosen and recorded here first, and the host begins
// it only where it has not begun.
#ifndef RB_EXECUTOR_SEND_H
#define RB_EXECUTOR_SEND_H

#include "executor/away/elsewhere.h"
#include "executor/away/host.h"
#include "executor/journal/run_files.h"

struct rb_send {
    const struct rb_host *host;
    const struct rb_run_files *files; // plan, workdir, and the digest of the plan's file; of no run yet
    const char *const *options;       // further ones of rbrun there, [n_options]
    int n_options;
};

struct rb_sent {
    bool had_begun; // an earlier command has begun it; the rest is unknown then
    int pid;
    char unit[192], log[4400]; // on the host; unit "": none
};

// record: the caller has asked for it; without an id it is asked for here, once the host is known to fit. Forgotten where the
// host has refused the run; the caller finishes it. May take minutes: stderr says what is sent. Errors of the host keep their numbers.
bool rb_send_run(const struct rb_send *send, struct rb_elsewhere *record, struct rb_sent *out, struct rb_err *err);

// Carries out a command of this program on the host, and sends the program first where it is missing. words: of host.sh
// behind verb and digest. Output: as in call, whose words are ignored.
bool rb_send_command(const struct rb_host *host, const char *verb, const char *const *words, int n_words,
                     const struct rb_host_call *call, int *out_code, struct rb_err *err);

// The host fits, and has this program from now on; out_digest: of the program, the second word of its verbs.
bool rb_send_program(const struct rb_host *host, char out_digest[static 65], struct rb_err *err);
// Sends a file whose digest is known; words: of a verb of host.sh. Anything but its exit code 0 is an error.
bool rb_send_file(const struct rb_host *host, const char *const *words, int n_words, const char *path, struct rb_err *err);
// A file in memory with the values of the job's secrets and of its hooks', which are set in the environment; -1: no room.
int rb_send_secrets(const struct rb_job *job);
// The host's own error, from what it said: its number is kept. Returns false.
bool rb_sent_error(const struct rb_host *host, const struct rb_buf *said, int code, struct rb_err *err);

// On the host: secrets of the job and of its hooks from stdin, into this process's environment.
bool rb_sent_take_secrets(const struct rb_job *job, struct rb_err *err);

#endif
