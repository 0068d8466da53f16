// Plans that `estimate` has kept, DIR/SHA256.json: where approve and run find them. The newest RB_LIMIT_MCP_PLANS
// stay, and with them each one that a person has been asked to approve, for two days: one until it is approved, one
// until it is used.
#ifndef RB_COMMANDS_RBMCP_KEPT_PLANS_H
#define RB_COMMANDS_RBMCP_KEPT_PLANS_H

#include <stdbool.h>

// Moves the plan there, and removes old ones. False: it could not be moved.
bool rb_mcp_plans_keep(const char *dir, const char *path, const char *sha256);
// A person is asked to approve this plan. Nothing happens where it is none of dir's.
void rb_mcp_plans_hold(const char *dir, const char *plan);

#endif
