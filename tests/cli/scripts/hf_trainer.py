from dataclasses import dataclass, field
from typing import Optional

from transformers import HfArgumentParser, Trainer, TrainingArguments


@dataclass
class ModelArguments:
    model_name_or_path: str = field(metadata={"help": "which"})
    hidden_dropout: float = 0.1
    cache_dir: Optional[str] = field(default=None)
    freeze: bool = False


def main():
    parser = HfArgumentParser((ModelArguments, TrainingArguments))
    model_args, training_args = parser.parse_args_into_dataclasses()
    trainer = Trainer(model=None, args=training_args)
    trainer.train()


main()
