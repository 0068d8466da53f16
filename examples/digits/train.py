#!/usr/bin/env python3
"""Trains a small neural network on scikit-learn's bundled handwritten digits, epoch by epoch.

Real training: stochastic gradient descent with momentum on 1,437 images, validated on 360. With several GPUs' worth of
slots it really runs that many worker processes, each computing the gradient of its shard of every mini-batch.
What is emulated, openly, is the accelerator's speed: many mock nodes share one machine's cores, so each epoch, once
trained, is paced to `--epoch-seconds / speedup(GPUs)`, with noise drawn from the trial's seed. `--real` switches the
pacing off.

The contract with rbrun is the environment (RB_*) and one `name=value` line per epoch on stdout; no library is needed.
"""
import argparse
import gzip
import importlib.util
import math
import mmap
import os
import random
import signal
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one worker process is one slot: no hidden threads
import numpy as np

# Speed-up of 1, 2, 4, 8 GPUs over one, ResNet-50 on CIFAR-10, one node (see docs/MODEL.md, "The paced accelerator").
SPEEDUP = {1: 1.0, 2: 1.870, 3: 2.66, 4: 3.421, 5: 4.02, 6: 4.59, 7: 5.11, 8: 5.598}


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--width", type=int, default=64, help="hidden units")
    p.add_argument("--batch_size", type=int, default=32)
    p.add_argument("--weight_decay", type=float, default=1e-4)
    p.add_argument("--epoch-seconds", type=float, default=3.2, help="paced time of an epoch on one GPU")
    p.add_argument("--startup-seconds", type=float, default=1.2, help="paced time from start to the first epoch")
    p.add_argument("--noise-between", type=float, default=0.05, help="spread between trials (cv)")
    p.add_argument("--noise-within", type=float, default=0.08, help="spread from epoch to epoch (cv)")
    p.add_argument("--real", action="store_true", help="no pacing: as fast as this machine trains")
    return p.parse_args()


def load_digits():
    """The 8x8 images that ship inside scikit-learn, read without importing all of it (start-up time matters)."""
    spec = importlib.util.find_spec("sklearn")
    if spec is None:
        sys.exit("train.py: scikit-learn is not installed for %s: apt-get install python3-sklearn" % sys.executable)
    path = os.path.join(spec.submodule_search_locations[0], "datasets", "data", "digits.csv.gz")
    with gzip.open(path, "rt") as f:
        table = np.array([line.split(",") for line in f], dtype=np.float64)
    x, y = table[:, :64] / 16.0, table[:, 64].astype(int)
    order = np.random.default_rng(0).permutation(len(y))  # one split for every trial
    x, y = x[order], y[order]
    return x[:1437], y[:1437], x[1437:], y[1437:]


class Model:
    """One hidden layer, all parameters in one flat vector that workers share."""

    def __init__(self, width, theta):
        self.theta = theta
        sizes = [(64, width), (width,), (width, 10), (10,)]
        self.parts, at = [], 0
        for shape in sizes:
            n = math.prod(shape)
            self.parts.append(theta[at:at + n].reshape(shape))
            at += n

    @staticmethod
    def size(width):
        return 64 * width + width + width * 10 + 10

    def initialise(self, rng):
        w1, b1, w2, b2 = self.parts
        w1[:] = rng.normal(0, math.sqrt(2 / 64), w1.shape)
        w2[:] = rng.normal(0, math.sqrt(2 / w2.shape[0]), w2.shape)
        b1[:], b2[:] = 0, 0

    def gradient(self, x, y, out, total):
        """Sum of the shard's gradients over `total` samples of the whole mini-batch, into the flat vector out."""
        w1, b1, w2, b2 = self.parts
        h = np.maximum(x @ w1 + b1, 0)
        z = h @ w2 + b2
        z -= z.max(axis=1, keepdims=True)
        p = np.exp(z)
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(y)), y] -= 1
        p /= total
        g = Model(w1.shape[1], out)
        g.parts[2][:], g.parts[3][:] = h.T @ p, p.sum(axis=0)
        d = (p @ w2.T) * (h > 0)
        g.parts[0][:], g.parts[1][:] = x.T @ d, d.sum(axis=0)

    def accuracy(self, x, y):
        w1, b1, w2, b2 = self.parts
        return float(np.mean(np.argmax(np.maximum(x @ w1 + b1, 0) @ w2 + b2, axis=1) == y))


class Workers:
    """One process per GPU. The parent is worker 0; a byte through a pipe starts a step, another says it is done."""

    def __init__(self, n, width, x, y):
        size = Model.size(width)
        self.n, self.x, self.y = n, x, y
        shared = mmap.mmap(-1, 8 * size * (n + 1))
        flat = np.frombuffer(shared, dtype=np.float64)
        self.theta = flat[:size]
        self.grads = [flat[size * (i + 1):size * (i + 2)] for i in range(n)]
        self.model = Model(width, self.theta)
        self.batch = np.frombuffer(mmap.mmap(-1, 8 * (len(y) + 1)), dtype=np.int64)  # [0]: count, then sample indices
        self.go, self.done, self.pids = [], [], []
        for i in range(1, n):
            go_r, go_w = os.pipe()
            done_r, done_w = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(go_w)
                os.close(done_r)
                for fd in self.go + self.done:  # so that a dead parent ends every worker
                    os.close(fd)
                while os.read(go_r, 1):
                    self._shard(i)
                    os.write(done_w, b".")
                os._exit(0)
            os.close(go_r)
            os.close(done_w)
            self.go.append(go_w)
            self.done.append(done_r)
            self.pids.append(pid)

    def _shard(self, i):
        n = self.batch[0]
        mine = self.batch[1 + i * n // self.n:1 + (i + 1) * n // self.n]
        self.grads[i][:] = 0
        if len(mine):
            self.model.gradient(self.x[mine], self.y[mine], self.grads[i], n)

    def step(self, samples):
        self.batch[0] = len(samples)
        self.batch[1:1 + len(samples)] = samples
        for fd in self.go:
            os.write(fd, b".")
        self._shard(0)
        for fd in self.done:
            if not os.read(fd, 1):
                sys.exit("train.py: a worker process died")
        return sum(self.grads[1:], self.grads[0].copy())

    def close(self):
        for fd in self.go:
            os.close(fd)
        for pid in self.pids:
            os.waitpid(pid, 0)


def process_age():
    """Seconds since this process was started, interpreter start-up included."""
    with open("/proc/self/stat") as f:
        started_ticks = int(f.read().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started_ticks / os.sysconf("SC_CLK_TCK")


class Pace:
    """Sleeps until the emulated accelerator would have been done. Warns when the real work took longer."""

    def __init__(self, args, gpus, seed, rung, attempt):
        self.on = not args.real
        self.args, self.gpus, self.key = args, gpus, "%s/%s/%s" % (seed, rung, attempt)
        self.between = self.factor("between", args.noise_between)

    def factor(self, what, cv):
        sigma = math.sqrt(math.log(1 + cv * cv))  # lognormal of mean 1
        return random.Random(self.key + "/" + what).lognormvariate(-sigma * sigma / 2, sigma)

    def until(self, deadline, what):
        left = deadline - time.monotonic()
        if left > 0:
            time.sleep(left)
        elif left < -0.05 and what != "startup":
            print("train.py: warning: %s took %.2f s longer than its pace; this host is too busy" % (what, -left),
                  file=sys.stderr)

    def startup(self):
        if self.on:
            print("RB_PACED=1 accelerator speed is emulated: an epoch is paced to %g s on one GPU"
                  % self.args.epoch_seconds)
            target = self.args.startup_seconds * self.factor("startup", 0.1)
            self.until(time.monotonic() - process_age() + target, "startup")
        self.next = time.monotonic()

    def epoch(self, number):
        if self.on:
            within = self.factor("epoch %d" % number, self.args.noise_within)
            self.next += self.args.epoch_seconds / SPEEDUP[self.gpus] * self.between * within
            self.until(self.next, "epoch %d" % number)


def save(directory, epoch, theta, velocity):
    temporary = os.path.join(directory, ".state.npz.tmp")
    with open(temporary, "wb") as f:
        np.savez(f, epoch=epoch, theta=theta, velocity=velocity)
        f.flush()
        os.fsync(f.fileno())
    os.rename(temporary, os.path.join(directory, "state.npz"))


class Midway:
    """Saves about as often as RB_CHECKPOINT_EVERY_S asks, into a folder that is announced with the epoch's report: should the
    machine go, the trial continues from there."""

    def __init__(self, directory):
        self.directory, self.every_s = directory, float(os.environ.get("RB_CHECKPOINT_EVERY_S", "0"))
        self.saved = time.monotonic()

    def announcement(self, epoch, theta, velocity):
        if not self.directory or self.every_s <= 0 or time.monotonic() - self.saved < self.every_s:
            return ""
        name = "epoch-%d" % epoch
        new = os.path.join(self.directory, ".new")
        os.makedirs(new)
        save(new, epoch, theta, velocity)
        os.rename(new, os.path.join(self.directory, name))  # whole, or not there
        self.saved = time.monotonic()
        return " checkpoint=" + name


def main():
    args = arguments()
    env = os.environ
    gpus = len(env.get("CUDA_VISIBLE_DEVICES", "0").split(","))
    if gpus not in SPEEDUP:
        sys.exit("train.py: no emulated speed-up for %d GPUs (1..8)" % gpus)
    seed = int(env.get("RB_TRIAL_SEED", "0"))
    end = int(env.get("RB_RESOURCE_END", "5"))
    resume, directory = env.get("RB_RESUME_FROM", ""), env.get("RB_CHECKPOINT_DIR", "")
    pace = Pace(args, gpus, seed, env.get("RB_RUNG", "0"), env.get("RB_ATTEMPT", "0"))

    yielding, preempt = [], env.get("RB_PREEMPT_FILE", "")  # that file appears when others shall have the GPUs
    signal.signal(signal.SIGTERM, lambda *_: yielding.append(True))

    x, y, x_val, y_val = load_digits()
    workers = Workers(gpus, args.width, x, y)
    theta, model = workers.theta, workers.model
    model.initialise(np.random.default_rng(seed % 2**32))
    velocity, epoch = np.zeros_like(theta), int(env.get("RB_RESOURCE_START", "0"))
    if resume:
        state = np.load(os.path.join(resume, "state.npz"))
        theta[:], velocity[:], epoch = state["theta"], state["velocity"], int(state["epoch"])
    midway = Midway(directory)
    pace.startup()

    while epoch < end and not yielding:
        epoch += 1
        order = np.random.default_rng([seed % 2**32, epoch]).permutation(len(y))
        for at in range(0, len(order), args.batch_size):
            gradient = workers.step(order[at:at + args.batch_size])
            velocity *= args.momentum
            velocity -= args.lr * (gradient + args.weight_decay * theta)
            theta += velocity
        accuracy = model.accuracy(x_val, y_val) if np.all(np.isfinite(theta)) else float("nan")
        pace.epoch(epoch)
        print("epoch=%d val_acc=%.4f%s" % (epoch, accuracy, midway.announcement(epoch, theta, velocity)), flush=True)
        if preempt and os.path.exists(preempt):
            yielding.append(True)

    if directory:
        save(directory, epoch, theta, velocity)
    workers.close()
    sys.exit(75 if epoch < end else 0)


if __name__ == "__main__":
    main()
