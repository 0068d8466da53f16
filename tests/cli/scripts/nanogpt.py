import os
import time

import torch

# -----------------------------------------------------------------------------
out_dir = 'out'
eval_interval = 2000
init_from = 'scratch'  # 'scratch' or 'resume'
batch_size = 12
dropout = 0.0
learning_rate = 6e-4
max_iters = 600000
beta2 = 0.95
lr_decay_iters = 600000
bias = False
compile = True
config_keys = [k for k, v in globals().items() if not k.startswith('_') and isinstance(v, (int, float, bool, str))]
exec(open('configurator.py').read())  # overrides from command line or config file
ddp = int(os.environ.get('RANK', -1)) != -1  # torchrun
iter_num = 0
while iter_num < max_iters:
    losses = {'train': 1.0, 'val': 1.0}
    if iter_num % eval_interval == 0:
        print(f"step {iter_num}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
        torch.save({}, os.path.join(out_dir, 'ckpt.pt'))
    iter_num += 1
