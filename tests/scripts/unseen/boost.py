import argparse
import xgboost as xgb


def run(a):
    dtrain, dvalid = xgb.DMatrix(a.train), xgb.DMatrix(a.valid)
    params = dict(max_depth=a.max_depth, eta=a.eta, subsample=a.subsample, objective="binary:logistic", eval_metric="auc")
    booster = xgb.train(params, dtrain, num_boost_round=a.rounds, evals=[(dtrain, "train"), (dvalid, "eval")])
    booster.save_model("model.json")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--train", required=True)
    p.add_argument("--valid", required=True)
    p.add_argument("--max-depth", type=int, default=6)
    p.add_argument("--eta", type=float, default=0.3)
    p.add_argument("--subsample", type=float, default=1.0)
    p.add_argument("--rounds", type=int, default=50)
    run(p.parse_args())
