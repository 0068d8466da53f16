// The provider of a Slurm cluster: one node of the plan is one allocation, a batch job submitted through slurmrestd.
//   slurm_client   finds slurmrestd, our credentials and the version of its API
//   slurm_encode   writes requests; slurm_decode reads jobs; slurm_errors classifies refusals
#ifndef RB_PROVIDERS_SLURM_H
#define RB_PROVIDERS_SLURM_H

#include "providers/provider.h"

extern const struct rb_provider_ops rb_provider_slurm;

#endif
