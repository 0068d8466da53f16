// rbmock: a cloud on loopback.
#include "base/file.h"
#include "base/errors/log.h"
#include "base/open_files.h"
#include "base/options.h"
#include "commands/program.h"
#include "providers/mock/server/server.h"

#include <stdio.h>
#include <string.h>

static const struct rb_option options[] = {
    {"ec2", 0, RB_OPT_INT, false, "PORT", "serve the EC2 Query API on 127.0.0.1:PORT (default 0: any free port)", 0,
     65535},
    {"gcp", 0, RB_OPT_INT, false, "PORT", "serve the Compute Engine API on 127.0.0.1:PORT (default 0: any free port)",
     0, 65535},
    {"k8s", 0, RB_OPT_INT, false, "PORT", "serve a Kubernetes API on 127.0.0.1:PORT (0: any free port; default: none)", 0,
     65535},
    {"cloud", 0, RB_OPT_STRING, false, "FILE",
     "the offers, their prices and boot times: rb-mock/1 (default: a few "
     "GPU types of AWS)",
     0, 0},
    {"seed", 0, RB_OPT_INT, false, "S", "seed of every delay that is drawn (default 1)", 0, 9007199254740991.0},
    {"speed", 0, RB_OPT_DOUBLE, false, "X", "run the cloud's clock X times as fast (default 1)", 0.001, 100000},
    {"state", 0, RB_OPT_STRING, false, "DIR",
     "keep ledger.json and the nodes' logs in DIR, and while it runs the keys (DIR/env)", 0, 0},
    {"credentials", 0, RB_OPT_STRING, false, "FILE", "access keys: CSV or ini (default: a new key, see `ready`)", 0, 0},
    {"key", 0, RB_OPT_STRING, false, "KEY:SECRET",
     "this access key, and SECRET as a token elsewhere; anyone who knows them runs commands as you", 0, 0},
    {"nodes", 0, RB_OPT_STRING, false, "KIND",
     "loopback (default), or netns: a network of its own for every node (root)", 0, 0},
    {"service-account", 0, RB_OPT_STRING, false, "FILE",
     "the Google service account that opens --gcp (default: a new one, see `ready`)", 0, 0},
    {"credentials-out", 0, RB_OPT_STRING, false, "FILE",
     "write that service account there, for GOOGLE_APPLICATION_CREDENTIALS", 0, 0},
    {"chaos", 0, RB_OPT_STRING, false, "FILE", "inject the faults in this file: rb-chaos/1", 0, 0},
    {"db", 0, RB_OPT_STRING, false, "FILE", "profile store; accepted everywhere, rbmock needs none", 0, 0},
    {0},
};

// A fixed token opens Compute Engine only if no account is given.
static bool configure_account(const struct rb_args *args, struct rb_mock_server_config *out, struct rb_err *err)
{
    const char *account = rb_args_string(args, "service-account", NULL);
    out->credentials_out = rb_args_string(args, "credentials-out", NULL);
    if (out->gcp_token && !account && !out->credentials_out)
        return true;
    out->gcp_token = NULL;
    return account ? rb_mock_gcp_account_read(account, &out->account, err)
                   : rb_mock_gcp_account_generate(&out->account, err);
}

static bool configure_keys(const struct rb_args *args, struct rb_arena *arena, struct rb_mock_server_config *out,
                           struct rb_err *err)
{
    const char *file = rb_args_string(args, "credentials", NULL), *key = rb_args_string(args, "key", NULL);
    if (file && key)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--key and --credentials both give the keys: use one");
    if (file)
        return rb_mock_keys_read(file, arena, &out->keys, err);
    if (!key)
        rb_mock_keys_make(arena, &out->keys);
    else if (!rb_mock_keys_parse(key, arena, &out->keys))
        return rb_err_set(err, RB_E_OPTION_VALUE,
                          "--key: expected ACCESS_KEY:SECRET, without blanks, quotes and slashes");
    else
        out->gcp_token = out->keys.keys[0].secret_key;
    return true;
}

static bool configure(const struct rb_args *args, struct rb_arena *arena, struct rb_mock_server_config *out,
                      struct rb_err *err)
{
    const char *cloud = rb_args_string(args, "cloud", NULL), *chaos = rb_args_string(args, "chaos", NULL);
    const char *nodes = rb_args_string(args, "nodes", "loopback");
    if (strcmp(nodes, "loopback") != 0 && strcmp(nodes, "netns") != 0)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--nodes: expected loopback or netns, got %s", nodes);
    struct rb_chaos_rules rules = {0};
    if (chaos && !rb_chaos_read(chaos, arena, &rules, err))
        return false;
    if (!(cloud ? rb_cloud_config_read(cloud, arena, &out->cloud, err)
                : rb_cloud_config_default(arena, &out->cloud, err)))
        return false;
    if (!configure_keys(args, arena, out, err))
        return false;
    out->cloud.chaos = rules;
    out->cloud.seed = (uint64_t)rb_args_int(args, "seed", 1);
    out->ec2_port = (int)rb_args_int(args, "ec2", 0);
    out->gcp_port = (int)rb_args_int(args, "gcp", 0);
    out->k8s_port = (int)rb_args_int(args, "k8s", -1);
    out->speed = rb_args_double(args, "speed", 1.0);
    out->state_dir = rb_args_string(args, "state", NULL);
    out->netns = strcmp(nodes, "netns") == 0;
    return configure_account(args, out, err);
}

static bool serve(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_mock_server_config config = {0};
    const bool ok = configure(args, &arena, &config, err) && rb_mock_server_run(&config, err);
    rb_mock_gcp_account_destroy(config.account);
    return ok;
}

static const struct rb_command command = {
    .name = "rbmock",
    .usage = "[options]",
    .summary = "A cloud on loopback: it has EC2's Query API and Compute Engine's REST API, boots every instance as\n"
               "an sshd of its own, bills, and misbehaves on request; with --k8s it is a Kubernetes cluster, too. It\n"
               "runs the user data, the pods and the commands of its clients as you: it listens on loopback only and\n"
               "makes new keys at each start.",
    .examples = "  rbmock --ec2 8900 --cloud cloud.yaml\n"
                "  rbmock --ec2 8900 --state cloud &\n"
                "  . cloud/env; aws ec2 describe-instances\n"
                "  rbmock --gcp 8901 --credentials-out account.json --chaos chaos.yaml\n"
                "  rbmock --k8s 8902 --state cloud &\n"
                "  . cloud/env; kubectl get pods\n"
                "  curl http://127.0.0.1:8900/_rbmock/ledger\n",
    .options = options,
    .run = serve,
};

int main(int argc, char **argv)
{
    static const struct rb_program program = {.command = &command, .open_files = RB_OPEN_FILES_TO_TALK};
    return rb_program_run(&program, argc, argv);
}
