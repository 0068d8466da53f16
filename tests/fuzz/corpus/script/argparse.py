import argparse
p = argparse.ArgumentParser()
p.add_argument("-l", "--lr", type=float, default=1e-3, choices=[1, 2.5])
p.add_argument('--fast', action="store_true")
a = p.parse_args()
print(f"epoch={e} accuracy={acc:.3f}")
