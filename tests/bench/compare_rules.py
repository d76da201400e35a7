"""What compare_pytorch.py makes of its figures; needs neither PyTorch nor a GPU.

A row is what one problem gave: preset, accuracy, bias, kernel, same_weights; cold_ms, hot_ms and errors, each of ours and
of PyTorch's layer; variants, PyTorch's other ways by name, each with cold_ms, hot_ms and same, or with its trouble.
"""

# The largest error that is right, over the largest |output|.
# tf32: both factors of a product lose up to 2^-11 of it, 9.8e-4 if all errors had one sign; 2.7e-4 to 4.3e-4 were measured
# (results/h200-pytorch.md).
# f16, bf16: sums in f32 and one rounding, half a unit of the last place; a twentieth more for the sums.
ERRORS = {"tf32": 1e-3, "f16": 1.05 * 2**-11, "bf16": 1.05 * 2**-8}


def bound(accuracy, theirs):
    """strict and 3xtf32: four times what PyTorch without TF32 has in the same run, where that is not next to nothing."""
    return ERRORS[accuracy] if accuracy in ERRORS else max(4 * theirs, 2**-20)


def name_of(row):
    return f"{row['preset']} {row['accuracy']}{' bias' if row['bias'] else ''} {row['kernel']}"


def faults(row):
    """Why a row must not be used; a NaN is within no bound."""
    out = []
    ours, theirs = row["errors"]
    most = bound(row["accuracy"], theirs)
    if not ours <= most:
        out.append(f"{name_of(row)}: largest error {ours:.2g}, right is at most {most:.2g}")
    if not row["same_weights"]:
        out.append(f"{name_of(row)}: not the weights of PyTorch's layer")
    return out


def fastest(row, which):
    """PyTorch's fastest way by cold_ms or hot_ms, with its time: its layer as it is, or a variant whose results agree."""
    ways = {"as it is": row[which][1]}
    ways.update({name: v[which] for name, v in row["variants"].items() if v.get("same")})
    name = min(ways, key=ways.get)
    return name, ways[name]


def times_faster(row, which):
    """PyTorch's fastest way over ours."""
    return fastest(row, which)[1] / row[which][0]
