// Classifies Slurm's error numbers for the caller.
#ifndef RB_PROVIDERS_SLURM_ERRORS_H
#define RB_PROVIDERS_SLURM_ERRORS_H

#include "providers/wire/api_call.h"

struct rb_node;

enum { RB_SLURM_ALREADY_DONE = 2021 };

// The first entry of the answer's "errors", if it has any: a status of 200 may hold some. Returns false: none.
// *out_number: Slurm's error number, 0 if it gives none.
bool rb_slurm_first_error(const struct rb_node *answer, int *out_number, enum rb_api_reaction *out_reaction,
                          struct rb_err *err);
// Judges an answer that is not 2xx.
enum rb_api_reaction rb_slurm_judge(long status, const char *body, size_t n, struct rb_err *err);

#endif
