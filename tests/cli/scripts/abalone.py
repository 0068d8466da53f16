"""Read, never run: options of a SageMaker script that boosts trees with XGBoost."""
import argparse
import json
import os

import xgboost as xgb

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_depth", type=int)
    parser.add_argument("--eta", type=float)
    parser.add_argument("--gamma", type=float)
    parser.add_argument("--min_child_weight", type=float)
    parser.add_argument("--subsample", type=float)
    parser.add_argument("--verbosity", type=int)
    parser.add_argument("--objective", type=str)
    parser.add_argument("--num_round", type=int)
    parser.add_argument("--tree_method", type=str, default="auto")
    parser.add_argument("--output_data_dir", type=str, default=os.environ.get("SM_OUTPUT_DATA_DIR"))
    parser.add_argument("--model_dir", type=str, default=os.environ.get("SM_MODEL_DIR"))
    parser.add_argument("--train", type=str, default=os.environ.get("SM_CHANNEL_TRAIN"))
    parser.add_argument("--validation", type=str, default=os.environ.get("SM_CHANNEL_VALIDATION"))
    parser.add_argument("--sm_hosts", type=str, default=os.environ.get("SM_HOSTS"))
    parser.add_argument("--sm_current_host", type=str, default=os.environ.get("SM_CURRENT_HOST"))
    args, _ = parser.parse_known_args()
    hosts = json.loads(args.sm_hosts)
    train, validation = xgb.DMatrix(args.train), xgb.DMatrix(args.validation)
    watched = [(train, "train"), (validation, "validation")]
    booster = xgb.train(params={"max_depth": args.max_depth, "eta": args.eta, "objective": args.objective}, dtrain=train,
                        evals=watched, num_boost_round=args.num_round)
    booster.save_model(args.model_dir + "/xgboost-model")
