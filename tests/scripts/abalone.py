#!/usr/bin/env python3
"""Prints as XGBoost's own training loop does; it cannot resume."""
import argparse
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("--num_round", type=int)
parser.add_argument("--eta", type=float)
parser.add_argument("--max_depth", type=int)
parser.add_argument("--model_dir", default=os.environ.get("SM_MODEL_DIR"))
args = parser.parse_args()
for i in range(args.num_round):
    time.sleep(0.15 * float(os.environ.get("PACE", "1")))
    rmse = args.max_depth / (1 + args.eta * (i + 1))
    print("[%d]\ttrain-rmse:%.5f\tvalidation-rmse:%.8f" % (i, 0.9 * rmse, rmse), flush=True)
with open(os.path.join(args.model_dir, "xgboost-model"), "w", encoding="utf-8") as f:
    f.write("%d" % args.num_round)
