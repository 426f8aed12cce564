"""Runs one model on whatever ONNX Runtime its interpreter has; started by ``sessions.py``, with nothing else installed.

    python elsewhere.py MODEL THREADS

Each line of standard input names a ``.npz`` of inputs and the ``.npy`` that the first output goes into; ``ok`` answers.
"""

import sys

import numpy as np
import onnxruntime as ort


def main() -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = int(sys.argv[2])
    session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
    for line in sys.stdin:
        asked, answered = line.split()
        with np.load(asked) as inputs:
            np.save(answered, session.run(None, dict(inputs))[0])
        print("ok", flush=True)


if __name__ == "__main__":
    main()
