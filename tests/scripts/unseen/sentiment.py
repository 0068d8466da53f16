"""Fine-tunes a small encoder on support tickets."""
import logging
from dataclasses import dataclass, field
from typing import Optional

from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, HfArgumentParser,
                          Trainer, TrainingArguments, set_seed)
from transformers.trainer_utils import get_last_checkpoint
from datasets import load_dataset

logger = logging.getLogger(__name__)


@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="distilbert-base-uncased", metadata={"help": "the encoder"})
    hidden_dropout: float = field(default=0.1)
    freeze_embeddings: bool = field(default=False)


@dataclass
class DataArguments:
    data_dir: str = field(metadata={"help": "folder with train.csv and dev.csv"})
    max_length: int = field(default=128)
    label_column: Optional[str] = field(default="label")


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    set_seed(training_args.seed)
    raw = load_dataset("csv", data_files={"train": data_args.data_dir + "/train.csv", "dev": data_args.data_dir + "/dev.csv"})
    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path)
    model = AutoModelForSequenceClassification.from_pretrained(model_args.model_name_or_path, num_labels=4,
                                                               dropout=model_args.hidden_dropout)
    train = raw["train"].map(lambda x: tokenizer(x["text"], truncation=True, max_length=data_args.max_length), batched=True)
    dev = raw["dev"].map(lambda x: tokenizer(x["text"], truncation=True, max_length=data_args.max_length), batched=True)

    def compute_metrics(p):
        return {"macro_f1": 0.0}

    last = get_last_checkpoint(training_args.output_dir)
    trainer = Trainer(model=model, args=training_args, train_dataset=train, eval_dataset=dev, tokenizer=tokenizer,
                      data_collator=DataCollatorWithPadding(tokenizer), compute_metrics=compute_metrics)
    trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint or last)
    trainer.save_model()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
