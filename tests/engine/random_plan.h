// Random jobs, profiles, offers and plans, each made from one integer: everything the stage model knows, mixed.
#ifndef RB_TESTS_ENGINE_RANDOM_PLAN_H
#define RB_TESTS_ENGINE_RANDOM_PLAN_H

#include "engine/core/rungs.h"
#include "engine/plan/plan.h"

#define MAX_OFFERS 6

struct random_plan {
    struct rb_job job;
    struct rb_profile profile;
    struct rb_catalog catalog;
    struct rb_offer offers[MAX_OFFERS];
    struct rb_provisioning provisioning[MAX_OFFERS];
    struct rb_spells spells[MAX_OFFERS];
    struct rb_hazard_step hazard[MAX_OFFERS][2];
    struct rb_training training;
    struct rb_dist configuration;
    struct rb_layout layouts[16];
    struct rb_disk_price disk;
    int sizes[16];
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES][MAX_OFFERS];
    struct rb_plan_early early[RB_LIMIT_STAGES][2];
    struct rb_plan plan;
    int share; // the one entry of trial.shares
    struct rb_setting settings[3]; // of pbt
};

void random_plan_make(struct random_plan *out, uint64_t seed);
// Takes what no law and no table knows from it: errors that all stages share, data that new nodes read.
void random_plan_forget_errors(struct random_plan *p);
// Its script saves in the middle of stages, as often as the profile suggests or every few units.
void random_plan_let_scripts_save(struct random_plan *p, uint64_t seed);
// Takes what only the virtual world knows of markets with memory: that they go down, and stand-ins for what is refused.
void random_plan_keep_markets_up(struct random_plan *p);
// Adds noise.configuration to its profile.
void random_plan_let_configurations_differ(struct random_plan *p);
// The same of another tuner: hyperband or asha with any of their ways, or pbt.
void random_plan_make_of(struct random_plan *out, uint64_t seed, const char *tuner);

#endif
