from lightning.pytorch.cli import LightningCLI
class M(LightningModule):
    def __init__(self, lr: float = 0.1, n=3):
        self.log("val_acc", x)
LightningCLI(M)
