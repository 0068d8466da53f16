// Runs a mock cloud: connects the pure cloud with a clock, HTTP (libmicrohttpd, loopback only) and nodes. One thread,
// one poll loop, a port for each front.
//
// On both ports, unsigned, for tests and people:
//   GET  /_rbmock/ledger                     rb-ledger/1
//   GET  /_rbmock/instances                  state, address, ssh user and port, directory of every instance
//   GET  /_rbmock/chaos                      for each rule of the chaos file, the calls seen and the faults injected
//   POST /_rbmock/nodes/<id>/<accident>      cut heal drop undrop freeze thaw poweroff
#ifndef RB_PROVIDERS_MOCK_SERVER_H
#define RB_PROVIDERS_MOCK_SERVER_H

#include "providers/mock/cloud/cloud_config.h"
#include "providers/mock/gcp/mock_gcp_account.h"
#include "providers/mock/server/mock_keys.h"

struct rb_mock_server_config {
    struct rb_cloud_config cloud; // its epoch and addresses are filled in here
    struct rb_mock_keys keys;
    struct rb_mock_gcp_account *account; // NULL: none
    const char *gcp_token;        // opens Compute Engine without an account, and never expires; NULL: none does
    const char *credentials_out;  // where the account's key is written once the port is known; NULL: nowhere
    int ec2_port, gcp_port;       // 0: any free one
    int k8s_port;                 // likewise; -1: no Kubernetes is served
    double speed;                 // seconds of the cloud's clock per second
    const char *state_dir;        // ledger.json and the nodes' logs stay there; NULL: nothing stays
    bool netns;
};

// Prints `ready ec2=http://127.0.0.1:PORT gcp=http://127.0.0.1:PORT[ k8s=http://127.0.0.1:PORT]` on stdout when it listens, and below it the lines
// of passport.h; serves until SIGTERM or SIGINT, ends all nodes, removes the keys. gate.h decides who may send
// requests.
bool rb_mock_server_run(const struct rb_mock_server_config *config, struct rb_err *err);

#endif
