// A Slurm cluster as a cloud: one node of the plan is one allocation, a batch job submitted through slurmrestd.
//   slurm_client   where slurmrestd is, who we are, which version of its API it speaks
//   slurm_encode   requests; slurm_decode: jobs; slurm_errors: what a refusal means
#ifndef RB_PROVIDERS_SLURM_H
#define RB_PROVIDERS_SLURM_H

#include "providers/provider.h"

extern const struct rb_provider_ops rb_provider_slurm;

#endif
