// The places in which a plan rents, and the providers behind them.
#ifndef RB_EXECUTOR_INFRAS_H
#define RB_EXECUTOR_INFRAS_H

#include "engine/plan/plan.h"
#include "providers/provider.h"

enum { RB_RUN_INFRAS = 32 }; // of one plan

void rb_infra_without_zone(const char *infra, char out[static 64]); // "aws/us-east-1/us-east-1a": "aws/us-east-1"
// Infras of a plan: "aws/us-east-1" without zones, each once. Returns how many were written, at most `max`.
int rb_run_infras(const struct rb_plan *plan, char out[][64], int max);
// Does this infra cost no real money: this machine, or a cloud on loopback?
bool rb_infra_is_harmless(const char *infra);
// Opens the provider behind an infra, with the loop and the other parts of `with`; region and loopback_only follow from
// the infra.
bool rb_infra_open(const char *infra, const struct rb_provider_config *with, struct rb_provider *out,
                   struct rb_err *err);

#endif
