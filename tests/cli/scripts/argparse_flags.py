"""An argparse script: add_argument("--quoted") in here is no option."""
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", "--learning-rate", "-l", type=float, default=1e-3, help="a (small, step")
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--dropout", type=float, default=0.1)
parser.add_argument("--momentum", default=0.9, type=float)
parser.add_argument("--label_smoothing", type=float, default=0.0)
parser.add_argument("--weight-decay", type=float, default=0.0)
parser.add_argument("--opt", choices=["sgd", "adam"], default="sgd")
parser.add_argument("--amp", action="store_true")
parser.add_argument("--no-cuda", action="store_true")
parser.add_argument("--epochs", type=int, default=20)  # how long
parser.add_argument("--resume", default=None, type=str)
parser.add_argument("--checkpoint-dir", default="ckpt")
parser.add_argument("--seed", type=int, default=1)
# parser.add_argument("--old", type=float, default=1.0)
args = parser.parse_args()

for epoch in range(args.epochs):
    loss, acc = 1.0, 0.5
    print(f"epoch={epoch + 1} train_loss={loss:.4f} val_acc={acc:.4f}", flush=True)
