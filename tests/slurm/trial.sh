# A trial that costs no CPU time: says where it runs, reports its resource, keeps it in the checkpoint.
set -eu
echo "here node=${SLURMD_NODENAME:-here} job=${SLURM_JOB_ID:-} devices=$CUDA_VISIBLE_DEVICES lent=${RB_NODE_DEVICES:-}"
start=$RB_RESOURCE_START
[ -z "$RB_RESUME_FROM" ] || [ "$(cat "$RB_RESUME_FROM/resource")" = "$start" ] || { echo "wrong checkpoint"; exit 9; }
i=$start
while [ "$i" -lt "$RB_RESOURCE_END" ]; do
    sleep "${PACE:-0.4}"
    i=$((i + 1))
    echo "epoch=$i val_acc=0.$((RB_TRIAL_ID + 1))$i"
    echo "$i" >"$RB_CHECKPOINT_DIR/resource.new"
    mv "$RB_CHECKPOINT_DIR/resource.new" "$RB_CHECKPOINT_DIR/resource"
    [ "$i" -eq "$RB_RESOURCE_END" ] || [ ! -e "$RB_PREEMPT_FILE" ] || exit 75
done
