// Training in virtual time on some cloud's machines. Processes belong to the machines and go on when a
// controller dies; a launcher is one controller's view of them. Asserts what must never happen: two processes
// on one GPU (or more than share it, or with unequal shares), two of one trial, a start from the wrong checkpoint.
#ifndef RB_TESTS_FAKE_LAUNCHER_H
#define RB_TESTS_FAKE_LAUNCHER_H

#include "executor/launcher/launcher.h"
#include "virtual_loop.h"

enum fake_ground {
    FAKE_GROUND_UP,     // answers
    FAKE_GROUND_SILENT, // does not answer: still booting, or dead without anybody having said so
    FAKE_GROUND_GONE,   // refuses
};

// What a launcher sees of a cloud: machines by number, found by address.
struct fake_site {
    struct virtual_loop *v;
    void *cloud;
    int (*find)(void *cloud, const char *address, const char **out_id); // -1: no one has that address
    enum fake_ground (*ground)(void *cloud, int instance);
};

struct fake_training {
    double fails, yields, hangs; // per start
    double deaf;                 // starts that do not look for RB_PREEMPT_FILE
    bool silent;                 // ends with 0 without a report
    bool hangs_at_end;           // what hangs has reported all
    bool set_up_fails;           // every node
    int full_nodes;              // on instances with a smaller number a checkpoint finds no room
    int64_t fetch_us;            // how long each node fetches the job's data; 0: there is none
    double save_fails;           // per save
    bool announces;              // a checkpoint with every report
    int64_t unit_us, startup_us; // means
    // Units that begin on this machine within these times take three times as long; until_us 0: none do.
    struct {
        int instance;
        int64_t from_us, until_us;
    } spike;
};

enum fake_process_state { FAKE_RUNNING, FAKE_EXITED, FAKE_KILLED };

struct fake_process {
    struct fake_machines *machines;
    int trial, start, stage, attempt;
    int64_t resource_start, resource_end;
    int sharers; // by RB_GPU_SHARE; 1: its GPUs are its own
    int n_slots;
    struct {
        int instance;
        uint64_t gpus;
    } slots[16];
    enum fake_process_state state;
    int n_lines, stops_after, exit_code; // stops_after: lines before it ends
    bool hangs, asked, deaf;
    int64_t unit_us;
    bool saved;
    int64_t kept_to; // what was announced to the launcher of this session
    bool given_up;      // no one reaches its machine: until that is ended it may run beside its successor
    uint64_t followed; // by the launcher of this session,
    bool held_up;      // once there is room for the command that follows it
    int n_delivered;
    bool exit_delivered;
};

struct fake_checkpoint {
    char path[256];
    int trial;
    int64_t resource;
    bool midway;
};

struct fake_machines {
    struct fake_site site;
    uint64_t seed;
    struct fake_training training;
    struct fake_process **processes; // [n_processes], never removed
    int n_processes;
    struct fake_checkpoint *checkpoints;
    int n_checkpoints;
    int n_heartbeats;
    struct rb_switch_report switch_report; // what heartbeats find; left_s 0 of an armed one: as they ask
    uint32_t n_saves;
    int n_kept, n_resumed_midway; // checkpoints that were announced and became safe; starts from one of them
    bool *set_up; // [n_set_up] by instance: a launcher has prepared it once
    int n_set_up;
    int64_t catch_up_us;        // after a stop of the controller until what was printed meanwhile is there
    int64_t full_until_us;      // loop time: until then the controller's host has no room for another command
    bool offline;               // the controller's host has no network: nothing is heard, and no order arrives
    uint64_t session;
    struct rb_launcher launcher; // of this session
    struct rb_launcher_events events;
    struct {
        int node, instance;
    } nodes[256]; // this session's connections
    int n_nodes;
};

void fake_machines_init(struct fake_machines *m, const struct fake_site *site, uint64_t seed);
void fake_machines_finish(struct fake_machines *m);
// The machine is down: its processes end with it, and its launcher notices after a while.
void fake_machines_died(void *machines, int instance);
// The host's network goes, or comes back. Machines train on; a launcher gives its nodes up after half a minute.
void fake_machines_set_offline(struct fake_machines *m, bool offline);
// The controller's host has no room for another file or process for that long. What runs there runs on; every command that
// cannot be started is held up and tried again every second.
void fake_machines_set_full(struct fake_machines *m, int64_t for_us);
// A new controller's launcher; the one before hears nothing any more.
struct rb_launcher *fake_machines_launcher(void *machines, const struct rb_launcher_events *events);

double fake_metric(int trial, int64_t resource);

#endif
