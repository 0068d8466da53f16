#!/usr/bin/env python3
"""Trains a small network on scikit-learn's handwritten digits with PyTorch's DistributedDataParallel (gloo), on one node or
several.

One process (rank) for each GPU of each node: started by torchrun, or, where nodes have one GPU, by rbrun itself, whose
environment says all that a rendezvous needs. Of every mini-batch each rank takes its equal share; DDP
averages the gradients, so that a step is the same whatever the number of ranks. After each epoch the ranks compare their
parameters: ranks that differ would be two models, and the script fails. Rank 0 alone reports and saves.

What is emulated, openly, is the accelerator's speed: the nodes of a mock cloud share one machine's cores, so the arithmetic
of a step is paced to `--step-seconds` times the rank's share of the batch. Synchronisation is not: it takes what it takes.
`--real` switches the pacing off.

The contract with rbrun is the environment (RB_*) and one `name=value` line per epoch on stdout.
"""
import argparse
import hashlib
import os
import sys
import time

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel

CHECKPOINT = "state.pt"
TRAINING_SAMPLES = 1437  # of 1,797; the others validate


def arguments():
    """What rbrun passes in $RB_ARGS, and the pace."""
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--width", type=int, default=64, help="hidden units")
    p.add_argument("--batch_size", type=int, default=128, help="samples of one step, over all ranks")
    p.add_argument("--step-seconds", type=float, default=0.3, help="paced time of a whole batch's arithmetic on one GPU")
    p.add_argument("--real", action="store_true", help="no pacing: as fast as this machine trains")
    args = p.parse_args()
    if args.batch_size % dist.get_world_size():
        sys.exit("train.py: --batch_size=%d: expected a multiple of the %d ranks" % (args.batch_size, dist.get_world_size()))
    return args


def join():
    """The process group, by torchrun's variables or by rbrun's."""
    env = os.environ
    if "RANK" not in env and int(env.get("RB_GPUS_PER_NODE", "1")) > 1:
        sys.exit("train.py: %s GPUs a node and no RANK: expected to be started by torchrun, one process for each GPU"
                 % env["RB_GPUS_PER_NODE"])
    rank, ranks = env.get("RANK", env.get("RB_NODE_RANK", "0")), env.get("WORLD_SIZE", env.get("RB_NUM_NODES", "1"))
    store = "tcp://%s:%s" % (env.get("MASTER_ADDR", "127.0.0.1"), env.get("MASTER_PORT", "29500"))
    dist.init_process_group("gloo", init_method="env://" if "RANK" in env else store, rank=int(rank), world_size=int(ranks))


def digits():
    """(training, validation), each images and labels; the same split in every trial and rank."""
    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    x, y = torch.tensor(x / 16.0, dtype=torch.float32)[order], torch.tensor(y)[order]
    n = TRAINING_SAMPLES
    return (x[:n], y[:n]), (x[n:], y[n:])


def batches(seed, epoch, size):
    """Indices of an epoch's mini-batches, whole ones only: their shares are equal, as DDP's average of averages wants it."""
    order = torch.randperm(TRAINING_SAMPLES, generator=torch.Generator().manual_seed(seed * 1000 + epoch))
    return [b for b in order.split(size) if len(b) == size]


def fingerprint(model):
    digest = hashlib.sha256()
    for tensor in model.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()[:16]


def compare_ranks(model):
    """The parameters' fingerprint, after all ranks have said theirs."""
    all_of_them = [None] * dist.get_world_size()
    dist.all_gather_object(all_of_them, fingerprint(model))
    if len(set(all_of_them)) != 1:
        sys.exit("train.py: ranks have different parameters: %s" % " ".join(all_of_them))
    return all_of_them[0]


def train_epoch(ddp, optimizer, data, epoch, seed, args):
    """One epoch; each rank its share of every batch."""
    x, y = data
    rank, ranks = dist.get_rank(), dist.get_world_size()
    for batch in batches(seed, epoch, args.batch_size):
        done_at = time.monotonic() + args.step_seconds / ranks
        mine = batch[rank::ranks]
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(ddp(x[mine]), y[mine])
        if not args.real:  # before backward(): that is where DDP waits for the other ranks
            time.sleep(max(0.0, done_at - time.monotonic()))
        loss.backward()
        optimizer.step()


def accuracy(model, data):
    x, y = data
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def restore(model, optimizer):
    """Every rank takes what rank 0 has on its disk; the epoch that was reached."""
    folder = os.environ.get("RB_RESUME_FROM", "")
    state = [torch.load(os.path.join(folder, CHECKPOINT)) if folder and dist.get_rank() == 0 else None]
    dist.broadcast_object_list(state)
    if state[0] is None:
        return 0
    model.load_state_dict(state[0]["model"])
    optimizer.load_state_dict(state[0]["optimizer"])
    return state[0]["epoch"]


def save(model, optimizer, epoch, folder):
    temporary = os.path.join(folder, "." + CHECKPOINT)
    torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, temporary)
    os.rename(temporary, os.path.join(folder, CHECKPOINT))


def announce_midway(model, optimizer, epoch, saved_at):
    """Rank 0 saves about as often as RB_CHECKPOINT_EVERY_S asks, into a folder of its own; what its report says of that, and
    when it saved last."""
    every_s, folder = float(os.environ.get("RB_CHECKPOINT_EVERY_S", "0")), os.environ.get("RB_CHECKPOINT_DIR", "")
    if not folder or every_s <= 0 or time.monotonic() - saved_at < every_s:
        return "", saved_at
    name, new = "epoch-%d" % epoch, os.path.join(folder, ".new")
    os.makedirs(new)
    save(model, optimizer, epoch, new)
    os.rename(new, os.path.join(folder, name))  # whole, or not there
    return " checkpoint=" + name, time.monotonic()


def asked_to_yield():
    """Does any rank see the file? All must stop after the same epoch."""
    name = os.environ.get("RB_PREEMPT_FILE", "")
    seen = torch.tensor(int(bool(name) and os.path.exists(name)))
    dist.all_reduce(seen, dist.ReduceOp.MAX)
    return bool(seen)


def main():
    join()
    args = arguments()
    seed, end = int(os.environ.get("RB_TRIAL_SEED", "0")), int(os.environ.get("RB_RESOURCE_END", "5"))
    training, validation = digits()
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(64, args.width), torch.nn.ReLU(), torch.nn.Linear(args.width, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    epoch = restore(model, optimizer)
    ddp = DistributedDataParallel(model)
    print("rank %d of %d, on node %s of %s; %s, from epoch %d" % (
        dist.get_rank(), dist.get_world_size(), os.environ.get("RB_NODE_RANK", "0"), os.environ.get("RB_NUM_NODES", "1"),
        "as fast as this machine trains" if args.real else "paced: accelerator speed is emulated", epoch), flush=True)
    yielding, saved_at = False, time.monotonic()
    while epoch < end and not yielding:
        epoch += 1
        train_epoch(ddp, optimizer, training, epoch, seed, args)
        same = compare_ranks(model)
        if dist.get_rank() == 0:
            print("world size %d: all ranks have the parameters %s" % (dist.get_world_size(), same))
            announced, saved_at = announce_midway(model, optimizer, epoch, saved_at)
            print("epoch=%d val_acc=%.4f%s" % (epoch, accuracy(model, validation), announced), flush=True)
        yielding = asked_to_yield()
    if os.environ.get("RB_CHECKPOINT_DIR") and dist.get_rank() == 0:
        save(model, optimizer, epoch, os.environ["RB_CHECKPOINT_DIR"])
    dist.barrier()  # no rank leaves before rank 0 has saved
    sys.stdout.flush()
    # Not sys.exit: where PyTorch 1.13's threads are torn down, a rank sometimes waits for ever.
    os._exit(75 if epoch < end else 0)


if __name__ == "__main__":
    main()
