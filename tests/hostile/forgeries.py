"""Forgeries: each changes a certificate's document and says how."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
from tests.hostile.draw import chance, pick
from tests.hostile.forge import TREE, Document, Genuine, pack, squeeze, unpack, unsqueeze

from sparsebounds.certificates.row_codec import ROWS, SPANS

Rng = np.random.Generator


def raise_lower(rng: Rng, document: Document, source: Genuine) -> str:
    lower, upper = document["lower"], document["upper"]
    null = float(np.mean(np.asarray(source.spec.signs_or_y) ** 2)) / 2
    step = pick(rng, 1e-16, 1e-12, 1e-10, 5e-10, 9e-10, 1e-9, 1e-6, 1e-3)
    base = pick(rng, abs(lower), abs(upper), null, null)
    how = pick(rng, "by a step", "by a step", "by an ulp", "above upper", "to the optimum")
    if how == "by a step":
        document["lower"] = lower + step * base
    elif how == "by an ulp":
        document["lower"] = float(np.nextafter(lower, np.inf))
    elif how == "above upper":
        document["lower"] = upper * (1 + step) + step
    else:
        document["lower"] = float(np.nextafter(source.optimum, np.inf))
    return f"lower raised {how}"


def lower_upper(rng: Rng, document: Document, source: Genuine) -> str:
    step = pick(rng, 1e-15, 1e-12, 5e-10, 1e-9, 1e-3)
    document["upper"] -= step * pick(rng, abs(document["upper"]), abs(document["lower"]) + 1.0)
    return "upper lowered"


def change_duals(rng: Rng, document: Document, source: Genuine) -> str:
    name = pick(rng, "duals", "boxes")
    vectors = document.get(name) or document["duals"]
    if not vectors:
        return "no duals"
    place = int(rng.integers(len(vectors)))
    vector = unpack(vectors[place])
    how = pick(rng, "zero", "scaled", "noise", "one entry", "swapped", "dropped", "huge")
    if how == "swapped":
        vectors.reverse()
    elif how == "dropped":
        del vectors[place]
    else:
        row = int(rng.integers(len(vector)))
        if how == "one entry":
            vector[row] = pick(rng, -1.0, 0.0, 1.0) * 10.0 ** rng.uniform(-300, 300)
        size = {"zero": 0.0, "scaled": 1.1, "huge": 1e200}.get(how, 1.0)
        vector = vector * size + (0.1 * rng.normal(size=len(vector)) if how == "noise" else 0.0)
        vectors[place] = pack(vector)
    return f"{name} {how}"


def change_leaves(rng: Rng, document: Document, source: Genuine) -> str:
    leaves = document["leaves"]
    if not leaves:
        return "no leaves"
    leaf, m = leaves[int(rng.integers(len(leaves)))], source.spec.X.shape[1]
    how = pick(rng, "dropped", "low", "high", "inside", "outside", "dual", "both", "fixed")
    if how == "dropped":
        leaves.remove(leaf)
    elif how in ("low", "high"):
        leaf[how] = int(pick(rng, 0, 1, 2, m, 2**62, -1))
    elif how == "dual":
        leaf["dual"] = int(pick(rng, 0, 1, -1, len(document["duals"])))
    elif how == "both":
        leaf["inside"] = leaf["outside"] = [0]
    elif how == "fixed":
        leaf["inside"] = [int(j) for j in source.spec.always or source.spec.never]
    else:
        leaf[how] = sorted({int(j) for j in rng.integers(-1, m + 1, size=2)})
    return f"a leaf's {how}"


def change_model(rng: Rng, document: Document, source: Genuine) -> str:
    model, m = document["model"], source.spec.X.shape[1]
    how = pick(rng, "coef", "tiny", "support", "twice", "intercept", "more")
    if how in ("coef", "tiny") and model["coef"]:
        place = int(rng.integers(len(model["coef"])))
        model["coef"][place] *= 1 + pick(rng, -1, 1) * (1e-9 if how == "tiny" else 0.3)
    elif how == "support" and model["support"]:
        model["support"][0] = int(rng.integers(-1, m + 1))
    elif how == "twice" and model["support"]:
        model["support"].append(model["support"][0])
        model["coef"].append(0.0)
    elif how == "more":
        model["support"].append(int(rng.integers(m)))
        model["coef"].append(pick(rng, 0.0, 1e-300, 1e-12, 0.1))
    else:
        model["intercept"] += pick(rng, 1e-12, 0.1, 1e300)
    return f"the model's {how}"


def change_problem(rng: Rng, document: Document, source: Genuine) -> str:
    problem, m = document["problem"], source.spec.X.shape[1]
    how = pick(rng, "number", "number", "features", "loss", "parameters", "intercept", "scales")
    if how == "number":
        key = pick(rng, *(key for key in ("k", "l0", "ridge", "ball") if problem[key] is not None))
        if key == "k":
            problem["k"] = int(max(0, problem["k"] + pick(rng, -1, 1, 2**61)))
        elif isinstance(problem[key], str):
            problem[key] = pack(unpack(problem[key]) * 2.0)
        else:
            problem[key] *= pick(rng, 0.5, 0.999, 1.001, 2.0, 1e-30, 1e30)
        return f"problem.{key}"
    if how == "features":
        key = pick(rng, "positive", "always", "never")
        problem[key] = sorted({int(j) for j in rng.integers(0, m, size=rng.integers(0, 3))})
        return f"problem.{key}"
    if how == "loss":
        problem["loss"] = pick(rng, "squared", "huber", "logistic", "poisson", "tukey", "x", "")
        problem["loss_parameters"] = pick(rng, {}, {"delta": 1.35}, {"c": 4.685}, {"c": -1.0})
    elif how == "parameters":
        for key in problem["loss_parameters"]:
            problem["loss_parameters"][key] *= pick(rng, 0.5, 2.0, -1.0, 1e-200)
    elif how == "intercept":
        problem["fit_intercept"] = not problem["fit_intercept"]
    elif problem["scale"] is not None:
        key = pick(rng, "center", "scale")
        size = pick(rng, 1 + 1e-9, 1 + 1e-7, 0.5, 0.0)
        problem[key] = pack(unpack(problem[key]) * size)
    else:
        problem["center"], problem["scale"] = pack(np.zeros(m)), pack(np.full(m, 2.0))
    return f"problem's {how}"


def change_tree(rng: Rng, document: Document, source: Genuine) -> str:
    tree = document["tree"]
    if tree is None:
        return "no tree"
    if tree["shifts"] and chance(rng, 0.5):
        shift = tree["shifts"][int(rng.integers(len(tree["shifts"])))]
        key = pick(rng, "diagonal", "values", "shifted", "support")
        return f"shift.{key} {_spoil(rng, shift, key, '<f8' if key[0] in 'dv' else '<i4')}"
    key = pick(rng, *TREE, "splits", "kept_count", "shifts")
    if key in ("splits", "kept_count"):
        tree[key] = int(max(0, tree[key] + pick(rng, -1, 1, 2**27, 2**61)))
        return f"tree.{key}"
    if key == "shifts":
        node = int(rng.integers(2 * tree["splits"] + 1))
        tree["shifts"] = pick(rng, [], [_shift(rng, tree, node)])
        return "tree.shifts"
    return f"tree.{key} {_spoil(rng, tree, key, TREE[key])}"


def change_rows(rng: Rng, document: Document, source: Genuine) -> str:
    tree = document.get("rows")
    if not tree:
        return "no rows"
    spans = chance(rng, 0.6) and "spans" in tree
    holder, kinds = (tree["spans"], SPANS) if spans else (tree, ROWS)
    key = pick(rng, *(key for key, value in holder.items() if not isinstance(value, dict)))
    name = f"spans.{key}" if spans else f"rows.{key}"
    if key in kinds:
        return f"{name} {_spoil(rng, holder, key, kinds[key])}"
    holder[key] = int(max(0, holder[key] + pick(rng, -1, 1, 2**27, 2**61)))
    return name


def _spoil(rng: Rng, holder: Document, key: str, dtype: str) -> str:
    values = unsqueeze(holder[key], dtype)
    how = pick(rng, "one", "one", "zero", "more", "fewer", "noise")
    if how == "more":
        values = np.concatenate([values, values[:1]])
    elif how == "fewer":
        values = values[:-1]
    elif how == "zero":
        values[:] = 0
    elif len(values) and dtype[1] == "f":
        noise = rng.normal(size=len(values)) * (rng.random(len(values)) < 0.5)
        values = values * (1 + pick(rng, 1e-9, 0.5, 10.0) * noise)
    elif len(values):
        values[int(rng.integers(len(values)))] += pick(rng, -1, 1, 3)
    holder[key] = squeeze(values, dtype)
    return how


def _shift(rng: Rng, tree: Document, node: int) -> Document:
    count = tree["kept_count"]
    return {
        "node": node,
        "coefs": count,
        "support": squeeze(np.arange(count), "<i4"),
        "values": squeeze(rng.normal(size=count), "<f8"),
        "open": count,
        "shifted": squeeze(np.arange(count), "<i4"),
        "diagonal": squeeze(rng.uniform(0, pick(rng, 1e-3, 1.0), size=count), "<f8"),
    }


def change_data(rng: Rng, document: Document, source: Genuine) -> str:
    how = pick(rng, "fingerprint", "shape", "shape")
    if how == "shape":
        place = int(rng.integers(2))
        document["data"]["shape"][place] = int(pick(rng, 0, 1, 2**31, 2**40, 2**61, 2**62, 2**70))
    else:
        document["data"]["fingerprint"] = pick(rng, "", "x" * 999, document["sha256"])
    return f"data.{how}"


def change_anything(rng: Rng, document: Document, source: Genuine) -> str:
    """Any field becomes any value."""
    place, path = document, []
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return "nothing"
        key = keys[int(rng.integers(len(keys)))]
        path.append(str(key))
        if not isinstance(place[key], (dict, list)) or chance(rng, 0.3):
            break
        place = place[key]
    wild = (None, True, -1, 0, 2**62, 10**400, 1e308, -0.0, "", "AAAA", [], {}, [[]], {"a": 1})
    place[key] = json.loads(json.dumps(pick(rng, *wild, 0.5, [0], [1, 2], "\x00", "é")))
    return ".".join(path)


FORGERIES: tuple[Callable[[Rng, Document, Genuine], str], ...] = (
    raise_lower, raise_lower, raise_lower, lower_upper, change_duals, change_leaves, change_model,
    change_problem, change_problem, change_tree, change_tree, change_rows, change_rows,
    change_data, change_anything,
)  # fmt: skip
