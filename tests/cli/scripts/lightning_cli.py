import lightning as L
from lightning.pytorch.cli import LightningCLI


class Net(L.LightningModule):
    def __init__(self, lr: float = 1e-3, hidden: int = 64, dropout: float = 0.2, name="net"):
        super().__init__()

    def validation_step(self, batch, _):
        self.log("val_loss", 0.5, prog_bar=True)


class Data(L.LightningDataModule):
    def __init__(self, batch_size: int = 32):
        super().__init__()


LightningCLI(Net, Data)
