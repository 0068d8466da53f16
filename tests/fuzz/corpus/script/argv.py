import sys
lr = float(sys.argv[1])
n = int(sys.argv[2]) if len(sys.argv) > 2 else 3
LR = 0.1
print(json.dumps({"epoch": 1, "acc": 0.5}))
