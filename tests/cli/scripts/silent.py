import argparse

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--depth", type=int, required=True)
parser.add_argument("--alpha", type=float, default=0.3)
parser.add_argument("--resume", action="store_true")
parser.add_argument("--output_dir", required=True)
args = parser.parse_args()
print("done in", 3.0, "s")
