import glob
import os


def get_last_checkpoint(folder):
    found = glob.glob(os.path.join(folder, "checkpoint-*"))
    return max(found, key=lambda path: int(path.rsplit("-", 1)[1]), default=None)
