#!/usr/bin/env python3
"""Trains a small network with the batch size that rbrun chose, and reports the noise of its gradients.

Real training by plain gradient descent: a network with one hidden layer learns the labels of a random "teacher" network,
a tenth of which are wrong. Every GPU's worth of slots is a worker process of its own, with its own gradients. What a
script owes rbrun for a tuned batch is in three places, marked (1) to (3); docs/formats/trial.md says the same in words.

An epoch is counted in useful samples: a step with M samples counts as batch.size times its gain, so that trials with
different batches have learnt about the same when they are compared.
"""
import argparse
import math
import mmap
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one worker process is one slot: no hidden threads
import numpy as np

INPUTS, CLASSES, SAMPLES, WRONG = 24, 6, 24576, 0.1
SMOOTHING = 0.999  # of the noise, per step of the initial batch


def data():
    """The same for every trial: a teacher's labels, some of them replaced at random."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(SAMPLES + 2048, INPUTS))
    hidden = np.maximum(x @ rng.normal(size=(INPUTS, 16)), 0)
    y = np.argmax(hidden @ rng.normal(size=(16, CLASSES)), axis=1)
    wrong = rng.random(SAMPLES) < WRONG
    y[:SAMPLES][wrong] = rng.integers(0, CLASSES, wrong.sum())
    return x[:SAMPLES], y[:SAMPLES], x[SAMPLES:], y[SAMPLES:]


class Network:
    """Its parameters are views into one flat vector, so that processes can share them."""

    def __init__(self, width, theta):
        shapes = [(INPUTS, width), (width,), (width, CLASSES), (CLASSES,)]
        ends = np.cumsum([math.prod(s) for s in shapes])
        self.parts = [theta[end - math.prod(s):end].reshape(s) for s, end in zip(shapes, ends)]

    @staticmethod
    def size(width):
        return (INPUTS + 1) * width + (width + 1) * CLASSES

    def initialise(self, rng):
        for w, fan_in in ((self.parts[0], INPUTS), (self.parts[2], self.parts[2].shape[0])):
            w[:] = rng.normal(0, math.sqrt(2 / fan_in), w.shape)

    def logits(self, x):
        hidden = np.maximum(x @ self.parts[0] + self.parts[1], 0)
        return hidden, hidden @ self.parts[2] + self.parts[3]

    def gradient(self, x, y, out):
        """Mean gradient of the cross-entropy over these samples, into the network `out`."""
        hidden, z = self.logits(x)
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(y)), y] -= 1
        p /= len(y)
        out.parts[2][:], out.parts[3][:] = hidden.T @ p, p.sum(axis=0)
        d = (p @ self.parts[2].T) * (hidden > 0)
        out.parts[0][:], out.parts[1][:] = x.T @ d, d.sum(axis=0)

    def accuracy(self, x, y):
        return float(np.mean(np.argmax(self.logits(x)[1], axis=1) == y))


class Replica:
    """One GPU's part of a step: its accumulated gradients' sum, and the sum of their squared lengths."""

    def __init__(self, network, width, samples, gradients, out, x, y, rng):
        self.network, self.samples, self.gradients, self.out = network, samples, gradients, out
        self.x, self.y, self.rng = x, y, rng
        self.one = np.empty(Network.size(width))
        self.into = Network(width, self.one)

    def work(self):
        self.out[:] = 0
        for _ in range(self.gradients):
            mine = self.rng.integers(0, len(self.y), self.samples)
            self.network.gradient(self.x[mine], self.y[mine], self.into)
            self.out[:-1] += self.one
            self.out[-1] += self.one @ self.one


class Replicas:
    """A process for each GPU beyond the first. A byte through a pipe starts a step, another says it is done."""

    def __init__(self, gpus, width, per_gpu, gradients, x, y, seed):
        size = Network.size(width)
        samples = per_gpu
        if gpus * gradients == 1:  # a single gradient does not show its noise: two halves do
            samples, gradients = per_gpu // 2, 2
        shared = np.frombuffer(mmap.mmap(-1, 8 * (size + gpus * (size + 1))), dtype=np.float64)
        self.theta, self.sums = shared[:size], shared[size:].reshape(gpus, size + 1)
        self.network = Network(width, self.theta)
        self.count = gpus * gradients
        self.pipes, self.sync_s = [], 0.0
        make = lambda k: Replica(self.network, width, samples, gradients, self.sums[k], x, y,
                                 np.random.default_rng([*seed, k]))
        for k in range(1, gpus):
            go, done = os.pipe(), os.pipe()
            if os.fork() == 0:
                os.close(go[1])
                for other_go, other_done in self.pipes:  # so that a dead parent ends every worker
                    os.close(other_go)
                    os.close(other_done)
                replica = make(k)
                while os.read(go[0], 1):
                    replica.work()
                    os.write(done[1], b".")
                os._exit(0)
            os.close(go[0])
            os.close(done[1])
            self.pipes.append((go[1], done[0]))
        self.mine = make(0)

    def step(self):
        """The mean gradient, and the mean squared length of the gradients it is made of."""
        for go, _ in self.pipes:
            os.write(go, b".")
        self.mine.work()
        own_part_done = time.perf_counter()
        for _, done in self.pipes:
            if not os.read(done, 1):
                sys.exit("train.py: a worker process died")
        total = self.sums.sum(axis=0) / self.count
        self.sync_s += time.perf_counter() - own_part_done
        return total[:-1], total[-1]


class Noise:
    """(2) |g|^2 and the trace of a gradient's covariance over the initial batch, averaged over steps."""

    def __init__(self, scale, state=(0.0, 0.0, 0.0)):
        self.scale, (self.sqr, self.var, self.weight) = scale, state

    def saw(self, gradient, mean_of_sqr, count):
        sqr_of_mean, keep = gradient @ gradient, SMOOTHING ** self.scale
        self.sqr = keep * self.sqr + (1 - keep) * (count * sqr_of_mean - mean_of_sqr) / (count - 1)
        self.var = keep * self.var + (1 - keep) * (mean_of_sqr - sqr_of_mean) * self.scale / (count - 1)
        self.weight = keep * self.weight + (1 - keep)

    def mean(self):
        return max(self.sqr / self.weight, 0.0), max(self.var / self.weight, 1e-6)

    def gain(self):
        """Steps with the initial batch that one of ours is worth."""
        sqr, var = self.mean()
        return (var + sqr) / (var / self.scale + sqr)


def save(directory, **state):
    temporary = os.path.join(directory, ".state.npz.tmp")
    with open(temporary, "wb") as f:
        np.savez(f, **state)
        f.flush()
        os.fsync(f.fileno())
    os.rename(temporary, os.path.join(directory, "state.npz"))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--width", type=int, default=32, help="hidden units")
    p.add_argument("--initial-batch", type=int, default=16, help="trial.batch.size of the job")
    args, env = p.parse_args(), os.environ

    # (1) what to train with. Without rbrun: one GPU, the initial batch.
    gpus = len(env.get("CUDA_VISIBLE_DEVICES", "0").split(","))
    total = int(env.get("RB_BATCH_SIZE", args.initial_batch * gpus))
    per_gpu, extra = int(env.get("RB_BATCH_PER_GPU", args.initial_batch)), int(env.get("RB_ACCUM_STEPS", "0"))
    lr = args.lr * float(env.get("RB_LR_FACTOR", "1"))

    epoch, end = int(env.get("RB_RESOURCE_START", "0")), int(env.get("RB_RESOURCE_END", "8"))
    seed = int(env.get("RB_TRIAL_SEED", "0"))
    resume, directory = env.get("RB_RESUME_FROM", ""), env.get("RB_CHECKPOINT_DIR", "")
    x, y, x_val, y_val = data()
    replicas = Replicas(gpus, args.width, per_gpu, extra + 1, x, y, (seed, epoch, int(env.get("RB_ATTEMPT", "0"))))
    noise, progress = Noise(total / args.initial_batch), 0.0
    if resume:
        state = np.load(os.path.join(resume, "state.npz"))
        replicas.theta[:], progress = state["theta"], float(state["progress"])
        noise = Noise(noise.scale, tuple(state["noise"]))
    else:
        replicas.network.initialise(np.random.default_rng(seed))
    print("batch %d: %d GPUs, %d samples, %d more gradients a step; learning rate times %.6g"
          % (total, gpus, per_gpu, extra, lr / args.lr), flush=True)

    every_s, saved_at = float(env.get("RB_CHECKPOINT_EVERY_S", "0")), time.monotonic()
    yielding = False
    while epoch < end and not yielding:
        epoch += 1
        began, n_steps, replicas.sync_s = time.perf_counter(), 0, 0.0
        while progress < epoch * SAMPLES:
            gradient, mean_of_sqr = replicas.step()
            replicas.theta -= lr * gradient
            noise.saw(gradient, mean_of_sqr, replicas.count)
            progress += args.initial_batch * noise.gain()
            n_steps += 1
        step_s = (time.perf_counter() - began) / n_steps
        accuracy = replicas.network.accuracy(x_val, y_val) if np.all(np.isfinite(replicas.theta)) else float("nan")
        # a checkpoint of its own, for the case that the machine goes: whole when it has its name
        announced = ""
        if directory and every_s > 0 and time.monotonic() - saved_at >= every_s:
            announced, new = " checkpoint=epoch-%d" % epoch, os.path.join(directory, ".new")
            os.makedirs(new)
            save(new, theta=replicas.theta, progress=progress, noise=(noise.sqr, noise.var, noise.weight))
            os.rename(new, os.path.join(directory, "epoch-%d" % epoch))
            saved_at = time.monotonic()
        # (3) the report
        sync = " sync_s=%.9f" % (replicas.sync_s / n_steps) if gpus > 1 else ""
        print("epoch=%d val_acc=%.4f step_s=%.9f%s grad_sqr=%.9g grad_var=%.9g%s"
              % (epoch, accuracy, step_s, sync, *noise.mean(), announced), flush=True)
        yielding = os.path.exists(env.get("RB_PREEMPT_FILE", ""))

    if directory:
        save(directory, theta=replicas.theta, progress=progress, noise=(noise.sqr, noise.var, noise.weight))
    sys.exit(75 if epoch < end else 0)


if __name__ == "__main__":
    main()
