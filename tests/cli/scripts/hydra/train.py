"""Read, never run: a program under Hydra."""
import hydra


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    for epoch in range(1, cfg.trainer.max_epochs + 1):
        print(f"Epoch {epoch}/{cfg.trainer.max_epochs} | val loss: {run(cfg):.5f}")


main()
