"""The job of tests of --detach, --at and move: two trials on this machine, which need a secret."""

SECRET = "xyzzy-kept-in-memory"

TRAIN = """[ "$PASSWORD_OF_TEST" = "$(printf 'xyzzy%s' -kept-in-memory)" ] || exit 3
e=$RB_RESOURCE_START
while [ $e -lt $RB_RESOURCE_END ]; do e=$((e + 1)); sleep ${EPOCH_S:-0.1}; echo "epoch=$e val_acc=0.$((e * 10 + RB_TRIAL_ID))"; done
pwd > "$RB_CHECKPOINT_DIR/where"
"""
JOB = """name: away
metric: {name: val_acc, goal: maximize}
parameters: {lr: {min: 0.1, max: 0.9}}
scheduler: {type: sha, num_trials: 2, min_resource: 2, max_resource: 4, eta: 2, unit: epoch}
trial: {gpus: 1, timeout: 1m}
profile: paced
secrets: [PASSWORD_OF_TEST]
%s
checkpoint: {dir: ckpt}
resources: {infra: [local]}
deadline: 1m
confidence: 0.5
"""
INLINE = JOB % ("run: |\n" + "".join("  %s\n" % line for line in TRAIN.splitlines())).rstrip("\n")
IN_WORKDIR = JOB % "workdir: src\nrun: sh train.sh"
SLOW = "envs: {EPOCH_S: \"5\"}\n"
