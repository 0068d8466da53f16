# Stands for training: an epoch takes 0.3 s. It resumes from its checkpoint, reports, saves, and gives way when asked to.
epoch=0
[ -z "$RB_RESUME_FROM" ] || epoch=$(cat "$RB_RESUME_FROM/epoch")
while [ "$epoch" -lt "$RB_RESOURCE_END" ]; do
    epoch=$((epoch + 1))
    sleep 0.3
    awk -v e="$epoch" -v lr="$RB_PARAM_LR" 'BEGIN {printf "epoch=%d val_acc=%.4f\n", e, (1 - exp(-e / 8)) * (0.9 - 0.3 * (lr - 0.1) ^ 2)}'
    echo "$epoch" >"$RB_CHECKPOINT_DIR/epoch.new" && mv "$RB_CHECKPOINT_DIR/epoch.new" "$RB_CHECKPOINT_DIR/epoch"
    [ ! -e "$RB_PREEMPT_FILE" ] || exit 75
done
