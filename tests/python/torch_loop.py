"""A torch training of one's own on the loader: what test_loader_torch.py runs under a Python that has torch.

python torch_loop.py share FOLDER                    is the memory shared? On numbered records (tfrecords.py)
python torch_loop.py pixels FILE                     what a column of images becomes
python torch_loop.py train FOLDER CHECKPOINT [STEP]  on reviews, up to STEP or the end; continues CHECKPOINT

Prints JSON.
"""

import hashlib
import json
import pathlib
import sys

import numpy as np
import torch

import headrace as hr

EPOCHS = 8


def flat(batch: dict) -> dict:
    """The batch's arrays or tensors, with those of the ragged column."""
    return {**batch, "tags": batch["tags"].values, "offsets": batch["tags"].offsets}


def share(folder: str) -> dict:
    """For each column of the first batch whether torch and NumPy see the same memory, and its values."""
    columns = {"number": hr.int64, "vector": hr.float32[3], "tags": hr.ragged(hr.int64).default(())}
    data = hr.open(folder)
    arrays = next(data.loader(batch_size=50, columns=columns))
    addresses = {}

    class Remembering(hr.Loader):
        def __next__(self):
            batch = super().__next__()
            addresses.update({name: array.ctypes.data for name, array in flat(batch).items()})
            return batch

    loader = data.loader(batch_size=50, columns=columns)
    loader.__class__ = Remembering
    tensors = flat(next(loader.as_torch()))
    del loader
    bags = torch.nn.functional.embedding_bag(
        tensors["tags"] * 0, torch.ones(1, 1), tensors["offsets"][:-1], mode="sum"
    )
    return {
        "shared": {name: tensor.data_ptr() == addresses[name] for name, tensor in tensors.items()},
        "types": {name: str(tensor.dtype) for name, tensor in tensors.items()},
        "same values": bool(np.array_equal(tensors["vector"].numpy(), arrays["vector"])),
        "numbers": tensors["number"].tolist(),
        "tags": [row.tolist() for row in torch.tensor_split(tensors["tags"], tensors["offsets"][1:-1])],
        "tags by EmbeddingBag": bags[:, 0].int().tolist(),
    }


def pixels(file: str) -> dict:
    data = hr.open(file)
    columns = {"image": hr.image(4, 6)}
    tensor = next(data.loader(batch_size=3, columns=columns).as_torch())["image"]
    array = next(data.loader(batch_size=3, columns=columns))["image"]
    return {
        "type": str(tensor.dtype),
        "shape": list(tensor.shape),
        "same values": bool(np.array_equal(tensor.numpy(), array)),
    }


def train(folder: str, checkpoint: str, last_step: int | None) -> dict:
    """Losses of the steps that were done, accuracy on the test split, digest of the weights."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    columns = {"sentence": hr.float32[512], "label": hr.int64[2]}
    model = torch.nn.Sequential(torch.nn.Linear(512, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    saved = torch.load(checkpoint) if pathlib.Path(checkpoint).exists() else None
    if saved:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    loader = hr.open(folder).loader(
        batch_size=128, seed=44, epochs=EPOCHS, columns=columns, state=saved["data"] if saved else None
    )
    losses = []
    for batch in loader.as_torch():
        loss = torch.nn.functional.cross_entropy(model(batch["sentence"]), batch["label"].float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if loader.step == last_step:
            break
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "data": loader.state()}
    torch.save(state, checkpoint)

    test = hr.open(folder, split="test").loader(batch_size=200, columns=columns)
    with torch.no_grad():
        right = [model(batch["sentence"]).argmax(1) == batch["label"].argmax(1) for batch in test.as_torch()]
    weights = b"".join(tensor.numpy().tobytes() for tensor in model.state_dict().values())
    return {
        "losses": losses,
        "accuracy": torch.cat(right).float().mean().item(),
        "weights": hashlib.sha256(weights).hexdigest(),
        "steps": EPOCHS * loader.batches_per_epoch,
    }


def main(action: str, *arguments: str) -> None:
    if action == "share":
        print(json.dumps(share(*arguments)))
    elif action == "pixels":
        print(json.dumps(pixels(*arguments)))
    else:
        folder, checkpoint, *steps = arguments
        print(json.dumps(train(folder, checkpoint, int(steps[0]) if steps else None)))


if __name__ == "__main__":
    main(*sys.argv[1:])
