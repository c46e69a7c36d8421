#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Preset torch-conv2d: stock PyTorch's F.conv2d, forward and both gradients, against CPU PyTorch in float64.

Tensors are made on the CPU and moved, so that no kernel of PyTorch's own is needed: the wheel holds those as NVIDIA
machine code only. One JSON line a result; `rocbridge inspect torch-conv2d` runs it once on each of PyTorch's two cuDNN
paths (TORCH_CUDNN_V8_API_DISABLED=1 is the classic one) and reads the lines.
"""
import argparse
import json
import math
import os
import sys

import torch
import torch.nn.functional as F

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
UNIT = {"fp32": 2.0 ** -24, "fp16": 2.0 ** -11, "bf16": 2.0 ** -8}  # unit roundoff of the output type
ACCUMULATE = 2.0 ** -24  # half and bfloat16 are summed in float32
LAMBDA = 8.0
LAYOUTS = {"nchw": torch.contiguous_format, "nhwc": torch.channels_last}
CASES = [
    # name, x, w, keyword arguments, only in this layout (depthwise NCHW is a kernel of PyTorch's own)
    ("3x3", (2, 8, 14, 14), (16, 8, 3, 3), dict(padding=1), None),
    ("1x1", (2, 16, 9, 9), (8, 16, 1, 1), dict(), None),
    ("7x7-stride2", (1, 3, 32, 32), (16, 3, 7, 7), dict(stride=2, padding=3), None),
    ("3x3-dilation2", (2, 8, 15, 13), (8, 8, 3, 3), dict(dilation=2, padding=2), None),
    ("3x3-groups4", (2, 8, 12, 12), (16, 2, 3, 3), dict(groups=4, padding=1), None),
    ("3x3-groups2-dilation2", (1, 8, 17, 11), (12, 4, 3, 3), dict(groups=2, dilation=2, padding=1), None),
    ("depthwise", (2, 8, 12, 12), (8, 1, 3, 3), dict(groups=8, padding=1), "nhwc"),
    ("resnet-layer2", (1, 64, 28, 28), (64, 64, 3, 3), dict(padding=1), None),
]


def bound(reference, squares, terms, dtype):
    """Sum of the elements' tolerances over the sum of |reference| (docs/policy/integrity.md)."""
    tolerance = UNIT[dtype] * reference.abs() + LAMBDA * ACCUMULATE * (
        math.sqrt(terms) * squares.clamp(min=0).sqrt() + reference.abs() * math.sqrt(terms / 3))
    return (tolerance.sum() / reference.abs().sum()).item()


def rounded(shape, dtype, scale=1.0):
    return (torch.randn(shape) * scale).to(dtype)


def run(name, xs, ws, kw, dtype, layout):
    """Rows of one case: y, dx, dw."""
    x, w = rounded(xs, DTYPES[dtype]), rounded(ws, DTYPES[dtype], 1 / math.sqrt(ws[1] * ws[2] * ws[3]))
    x64, w64 = (t.double().requires_grad_() for t in (x, w))
    y64 = F.conv2d(x64, w64, **kw)
    g = rounded(y64.shape, DTYPES[dtype])
    dx64, dw64 = torch.autograd.grad(y64, (x64, w64), g.double())
    # The same with every operand squared: the sums of squared products that the bound needs.
    xq, wq = ((t.double() ** 2).requires_grad_() for t in (x, w))
    yq = F.conv2d(xq, wq, **kw)
    dxq, dwq = torch.autograd.grad(yq, (xq, wq), g.double() ** 2)
    terms = {"y": ws[1] * ws[2] * ws[3], "dx": ws[0] // kw.get("groups", 1) * ws[2] * ws[3],
             "dw": g.shape[0] * g.shape[2] * g.shape[3]}

    format_ = LAYOUTS[layout]
    xd, wd = (t.contiguous(memory_format=format_).cuda().requires_grad_() for t in (x, w))
    y = F.conv2d(xd, wd, **kw)
    dx, dw = torch.autograd.grad(y, (xd, wd), g.contiguous(memory_format=format_).cuda())
    for tensor, got, reference, squares in (("y", y, y64, yq), ("dx", dx, dx64, dxq), ("dw", dw, dw64, dwq)):
        got, reference = got.detach().cpu().double(), reference.detach()
        drift = ((got - reference).abs().sum() / reference.abs().sum()).item()
        limit = bound(reference, squares.detach(), terms[tensor], dtype)
        yield {"case": name, "tensor": tensor, "relative_l1": drift if math.isfinite(drift) else str(drift),
               "bound": limit, "good": drift <= limit}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--precision", action="append", choices=list(DTYPES), help="may be repeated; default: all")
    parser.add_argument("--batch", type=int, help="replaces the batch of every case")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    path = "classic" if os.environ.get("TORCH_CUDNN_V8_API_DISABLED") == "1" else "graph"
    torch.manual_seed(options.seed)
    torch.backends.cudnn.allow_tf32 = False
    good = True
    for dtype in options.precision or DTYPES:
        if path == "classic" and dtype == "bf16":
            print(json.dumps({"path": path, "precision": dtype, "left_out":
                              "PyTorch's classic path runs bfloat16 convolution in a kernel of its own"}), flush=True)
            continue
        for layout in LAYOUTS:
            for name, xs, ws, kw, only in CASES:
                if only not in (None, layout):
                    continue
                xs = (options.batch or xs[0], *xs[1:])
                place = {"path": path, "precision": dtype, "layout": layout}
                try:
                    rows = [place | row for row in run(name, xs, ws, kw, dtype, layout)]
                except RuntimeError as error:
                    rows = [place | {"case": name, "refused": str(error).strip().splitlines()[0], "good": False}]
                for row in rows:
                    good = good and row["good"]
                    print(json.dumps(row), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
