import sys, time
def DMatrix(x): return x
class B:
    def save_model(self, n): open(n, "w").close()
def train(params, d, num_boost_round, evals):
    for r in range(num_boost_round):
        time.sleep(0.02)
        print("[%d]\t%s" % (r, "\t".join("%s-auc:%.5f" % (n, 1 - params["eta"] / (r + 2)) for _, n in evals)), flush=True)
    return B()
