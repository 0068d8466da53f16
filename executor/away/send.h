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

// May take minutes: stderr says what is sent. Errors of the host keep their numbers.
bool rb_send_run(const struct rb_send *send, struct rb_elsewhere *record, struct rb_sent *out, struct rb_err *err);

// Carries out a command of this program on the host, and sends the program first where it is missing. words: of host.sh
// behind verb and digest. Output: as in call, whose words are ignored.
bool rb_send_command(const struct rb_host *host, const char *verb, const char *const *words, int n_words,
                     const struct rb_host_call *call, int *out_code, struct rb_err *err);

// On the host: secrets of the job from stdin, into this process's environment.
bool rb_sent_take_secrets(const struct rb_job *job, struct rb_err *err);

#endif
