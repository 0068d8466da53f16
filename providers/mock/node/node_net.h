// Creates networks for `--nodes netns`: a bridge without uplink, and for every node a network namespace with one cable
// to it. Root only; it runs ip(8) and nft(8). One rbmock at a time, since the bridge's address is the host's.
#ifndef RB_PROVIDERS_MOCK_NODE_NET_H
#define RB_PROVIDERS_MOCK_NODE_NET_H

#include "base/errors/err.h"

#include <stdint.h>

#define RB_NODE_NET_FIRST UINT32_C(0x0a630002) // 10.99.0.2; 10.99.0.1 is the bridge
#define RB_NODE_NET_COUNT UINT32_C(0xfffc)

bool rb_node_net_up(struct rb_err *err);
void rb_node_net_down(void);

// Names are made from the address: namespace rbm-HEX, the host's end of the cable rbmHEX.
struct rb_node_cable {
    char netns[32], link[16];
};
bool rb_node_cable_add(uint32_t address, struct rb_node_cable *out, struct rb_err *err);
void rb_node_cable_remove(const struct rb_node_cable *c);
bool rb_node_cable_set(const struct rb_node_cable *c, bool connected, struct rb_err *err); // link up or down
bool rb_node_cable_drop(const struct rb_node_cable *c, bool drop, struct rb_err *err);     // lose every packet

#endif
