// rbmock's cloud in virtual time: its real fronts and its real ledger, behind a wire that loses, delays and repeats
// requests, with machines for the fake launcher. The other implementation of providers/wire/http.h is here (soak_wire.c): the
// providers of the executor are linked against it and know no difference. The controller's host has a clock of its own,
// which may jump, and may fall asleep.
#ifndef RB_TESTS_SOAK_CLOUD_H
#define RB_TESTS_SOAK_CLOUD_H

#include "base/stream.h"
#include "fake_launcher.h"
#include "providers/mock/cloud/cloud.h"
#include "providers/mock/cloud/exchange.h"
#include "providers/mock/ec2/mock_ec2.h"
#include "providers/mock/gcp/mock_gcp.h"

#define SOAK_DEAD_MAN_US INT64_C(1800000000) // after its last heartbeat a node ends itself

#define SOAK_EC2_HOST "127.0.0.1:1001"
#define SOAK_GCP_HOST "127.0.0.1:1002"
#define SOAK_EC2_URL  "http://" SOAK_EC2_HOST
#define SOAK_GCP_URL  "http://" SOAK_GCP_HOST

// Probabilities per request, of what chaos files cannot say because it happens before or behind the cloud.
struct soak_wire_faults {
    double refused;      // no one listens: nothing was sent
    double lost_request; // nothing arrives, nothing comes back
    double late_request; // arrives up to 90 s later, mostly after the client gave it up
    double late_answer;  // the deed is done, the answer up to 60 s on its way
    double repeated;     // arrives twice, the second time up to 8 s later; that answer is lost
};
enum soak_wire_fault {
    SOAK_REFUSED,
    SOAK_LOST_REQUEST,
    SOAK_LATE_REQUEST,
    SOAK_LATE_ANSWER,
    SOAK_REPEATED,
    SOAK_OFFLINE, // requests of a host without a network
    SOAK_N_WIRE_FAULTS,
};

struct soak_cloud {
    struct virtual_loop v;     // first: a provider's loop leads back to its cloud. Its wall clock is the host's
    int64_t cloud_unix_us;     // the cloud's clock when the loop's shows 0
    struct rb_arena arena;
    struct rb_cloud_config config;
    struct rb_cloud *cloud;
    struct rb_mock_ec2 ec2;
    struct rb_mock_gcp *gcp;
    struct soak_wire_faults wire;
    struct rb_stream draws;    // of the wire
    int64_t n_wire_faults[SOAK_N_WIRE_FAULTS], n_requests;
    int64_t online_us;         // loop time: until then the host has no network; 0: it has one
    void (*network)(void *ctx, bool offline); // called when it goes or comes back
    bool *up;                  // [n_up] by ordinal: the machine answers
    int n_up;
    uint64_t timer;
    void (*died)(void *ctx, int instance); // its processes end with it
    void *died_ctx;            // of network, too
    bool is_gcp;               // how the launcher's instance ids are written
    char id[128];              // of the instance found last
};

// yaml, prices: rb-mock/1. chaos: rb-chaos/1. account: of Compute Engine. All outlive the cloud.
void soak_cloud_init(struct soak_cloud *c, uint64_t seed, const char *yaml, const char *prices, const char *chaos,
                     bool whole_seconds, const struct rb_mock_gcp_account *account);
void soak_cloud_finish(struct soak_cloud *c);
struct fake_site soak_cloud_site(struct soak_cloud *c);

int64_t soak_cloud_now_us(const struct soak_cloud *c);      // the cloud's clock, unix
void soak_cloud_jump(struct soak_cloud *c, int64_t by_us);  // the host's wall clock is set
void soak_cloud_sleep(struct soak_cloud *c, int64_t for_us); // the host stands still, the world goes on
// Longer than half an hour: nodes that hear of no one end themselves.
void soak_cloud_go_offline(struct soak_cloud *c, int64_t for_us);
bool soak_cloud_is_offline(const struct soak_cloud *c);
void soak_cloud_stop(struct soak_cloud *c, int64_t for_us);  // the controller's process stands still; likewise
void soak_cloud_settle(struct soak_cloud *c);               // what is due happens; called after every request

#endif
