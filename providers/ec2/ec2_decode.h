// Reads values from the XML answers of the EC2 Query API. Pure. Answers are untrusted: identifiers and addresses are
// checked, because callers use them on command lines.
#ifndef RB_PROVIDERS_EC2_DECODE_H
#define RB_PROVIDERS_EC2_DECODE_H

#include "base/arena.h"
#include "providers/listing.h"

// Decoded values live in the arena. region is copied into the instances. Errors: IO, naming the element.
// Reads exactly `count` instances, in the order of their launch.
bool rb_ec2_decode_run(const char *body, size_t n, int count, const char *region, struct rb_arena *arena,
                       struct rb_instance *out, struct rb_err *err);

bool rb_ec2_decode_list(const char *body, size_t n, const char *region, struct rb_arena *arena,
                        struct rb_instance_page *out, struct rb_err *err);
// Does the answer say that the instance is being terminated? *out_never_ran: it was pending until this request.
bool rb_ec2_decode_terminate(const char *body, size_t n, const char *id, bool *out_never_ran, struct rb_err *err);
struct rb_ec2_groups {
    struct rb_placement_group *groups; // [n]; those that are being deleted are left out
    int n;
};
bool rb_ec2_decode_tagged(const char *body, size_t n, struct rb_err *err); // CreateTags
bool rb_ec2_decode_groups(const char *body, size_t n, struct rb_arena *arena, struct rb_ec2_groups *out,
                          struct rb_err *err);
// NOT_FOUND if the answer does not hold the image.
bool rb_ec2_decode_image(const char *body, size_t n, const char *image_id, struct rb_arena *arena,
                         const char **out_root_device, struct rb_err *err);

struct rb_ec2_machine {
    const char *instance_type, *accelerator; // "CPU": none
    int gpus;                     // 1 slot for machines without
    double gpu_memory_gb, vcpus, memory_gb;
    bool on_demand, spot;         // markets it is sold on
};
struct rb_ec2_machines {
    struct rb_ec2_machine *machines; // [n]; types whose GPUs the answer does not describe are left out
    int n;
    const char *next_page;
};
bool rb_ec2_decode_machines(const char *body, size_t n, struct rb_arena *arena, struct rb_ec2_machines *out,
                            struct rb_err *err);

struct rb_ec2_spot_price {
    const char *instance_type, *zone;
    struct rb_rate rate;
    int64_t at_us; // unix, since when; -1: not said
};
struct rb_ec2_spot_prices {
    struct rb_ec2_spot_price *prices; // [n]
    int n;
    const char *next_page;
};
bool rb_ec2_decode_spot_prices(const char *body, size_t n, struct rb_arena *arena, struct rb_ec2_spot_prices *out,
                               struct rb_err *err);

// infra: of the region, such as "aws/us-east-1".
bool rb_ec2_decode_reservations(const char *body, size_t n, const char *infra, struct rb_arena *arena,
                                struct rb_reservation_page *out, struct rb_err *err);

#endif
