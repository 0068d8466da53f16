// An rbmock of one's own. Its executable is named by the variable RBMOCK, so tests run through `meson test`.
#ifndef RB_TESTS_PROVIDERS_MOCK_PROCESS_H
#define RB_TESTS_PROVIDERS_MOCK_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

// args follow the name of the command, NULL-terminated, at most 14. Returns when it serves; out_ready is its line
// "ready ec2=URL gcp=URL" (256 bytes).
pid_t mock_process_start(const char *const *args, char *out_ready);
bool mock_process_stop(pid_t pid); // did it end cleanly?

#endif
