"""Check a certificate of sparsebounds without sparsebounds: it shares no code with the package.

    python check_certificate.py certificate.json data.npz

docs/format.md says what a file holds, and proves every formula used here. Numbers are fractions or
integers over a power of 2, and sums and products are exact. Rounded are square roots, logarithms,
exponentials and entries of matrices that are proved positive semidefinite, always to the safe side.
NumPy reads arrays and does nothing else.

Exit code 0: proved; 1: refused, with the first thing that fails; 2: a file cannot be read.
"""

import hashlib
import json
import math
import sys
import zlib
from operator import mul

import numpy as np
from exact_numbers import INF, Q, Refused, exact, need, number, root, vector
from loss_functions import Loss
from programs import Gains, Program
from recodings import recoded
from robust_boxes import boxed
from row_trees import rows_bound
from search_trees import tree_bound


def uncovered(leaves, free, most):
    """Whether a support of at most `most` of so many free features is in no leaf."""
    boxes = [(frozenset(a), frozenset(b), low, high) for a, b, low, high in leaves]
    stack, room = [(boxes, frozenset(), frozenset())], 10**6 + 100 * len(leaves)
    while stack:
        boxes, taken, left_out = stack.pop()
        decided, least = taken | left_out, len(taken)
        done = [box for box in boxes if (box[0] | box[1]) <= decided]
        reached, top = least, min(most, least + free - len(decided))
        for _, _, low, high in sorted(done, key=lambda box: box[2]):
            reached = max(reached, high + 1) if low <= reached else reached
        if reached > top:
            continue
        partial = [box for box in boxes if not (box[0] | box[1]) <= decided]
        room -= len(boxes)
        if not partial or room < 0:
            return True
        few = min(partial, key=lambda box: len((box[0] | box[1]) - decided))
        split = max(
            sorted((few[0] | few[1]) - decided),
            key=lambda j: sum(j in box[0] or j in box[1] for box in partial),
        )
        stack.append(([b for b in boxes if split not in b[1]], taken | {split}, left_out))
        stack.append(([b for b in boxes if split not in b[0]], taken, left_out | {split}))
    return False


def leaves_of(program, document):
    """The leaves: features in, features out, a range of cardinalities, the place of a vector."""
    found = []
    for leaf in document["leaves"]:
        inside, outside, low, dual = (leaf[key] for key in ("inside", "outside", "low", "dual"))
        need(type(inside) is type(outside) is list, "a leaf holds what is no list")
        high, fixed = INF if leaf["high"] is None else leaf["high"], inside + outside
        whole = all(type(j) is int and j >= 0 for j in (*fixed, low, dual))
        need(whole and (high == INF or type(high) is int), "a leaf holds what is no whole number")
        need(all(program.free[j] for j in fixed), "a leaf fixes a feature that is not free")
        need(len(set(fixed)) == len(fixed), "a leaf fixes a feature twice")
        need(dual < len(document["duals"]), "a leaf has no dual vector")
        found.append((inside, outside, low, high, dual))
    return found


def leaves_bound(program, leaves, duals):
    """The smallest bound of the leaves, which cover every support."""
    need(leaves, "there is neither a leaf nor a tree")
    free, points, lower = sum(program.free), {}, INF
    most = free if program.k is None else min(free, program.k)
    boxes = [leaf[:4] for leaf in leaves]
    need(not uncovered(boxes, free, most), "the leaves do not cover every support")
    for inside, outside, low, high, dual in leaves:
        state = program.state
        for side, features in ((1, inside), (-1, outside)):
            for j in features:
                state = program.decided(state, j, side)
        if dual not in points:
            points[dual] = program.point(duals[dual])
        lower = min(lower, Gains(program, points[dual], state, low, high).bound())
    return max(min(lower, program.ceiling), program.least)


MASK = (1 << 64) - 1


def multipliers(count, seed):
    """Odd 64-bit numbers: a mixing of seed and index."""
    found = []
    for i in range(1, count + 1):
        x = (i * 0x9E3779B97F4A7C15 + seed) & MASK
        for shift, times in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = ((x ^ (x >> shift)) * times) & MASK
        found.append((x ^ (x >> 31)) | 1)
    return found


def fingerprint(X, y, weights, offset):
    n, m = X.shape
    digest = hashlib.sha256()
    for values in (y, weights, offset):
        digest.update(np.array([x + 0.0 for x in values], dtype="<f8").tobytes())
    columns = []
    for column in X.T:
        bits = np.ascontiguousarray(column).view(np.uint64).tolist()
        bits = [0 if x == 1 << 63 else x for x in bits]
        columns.append([x ^ (x >> 32) for x in bits])
    text = f"{n}x{m}-{digest.hexdigest()[:16]}-"
    for row_seed, col_seed in (
        (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F),
        (0x165667B19E3779F9, 0xD6E8FEB86659FD93),
    ):
        rows, cols = multipliers(n, row_seed), multipliers(m, col_seed)
        total = sum(c * sum(map(mul, rows, column)) for c, column in zip(cols, columns))
        text += f"{total & MASK:016x}"
    return text


BESIDE = {"made_by", "table", "group_names"}  # what says nothing about the proof


class Record(dict):
    """An object of a file, which keeps the names of the fields that were asked for."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.asked = set()
        need(len(self) == len(pairs), "a key appears twice")

    def __getitem__(self, name):
        self.asked.add(name)
        return super().__getitem__(name)

    def get(self, name, default=None):
        self.asked.add(name)
        return super().get(name, default)


def read(path):
    """The document of a certificate, its checksum compared, and the objects that it holds."""
    held = []

    def once(pairs):
        held.append(Record(pairs))
        return held[-1]

    def constant(name):
        raise Refused(f"{name} is no number")

    with open(path, encoding="utf-8") as stream:
        document = json.load(stream, object_pairs_hook=once, parse_constant=constant)
    need(document["format"] == "sparsebounds-certificate", "it is not a certificate")
    need(type(document["version"]) is int and document["version"] == 1, "it is not of version 1")
    rest = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    own = hashlib.sha256(text.encode()).hexdigest()
    need(document["sha256"] == own, "the checksum does not match")
    return document, held


def posed(document, data):
    """The problem that a certificate states, on these data."""
    problem = document["problem"]
    lists = [problem[name] for name in ("positive", "always", "never")]
    shaped = isinstance(problem["loss_parameters"], dict) and all(type(x) is list for x in lists)
    need(shaped, "the problem is not well formed")
    loss = Loss(problem["loss"], problem["loss_parameters"])
    X = np.asarray(data["X"], dtype=np.float64)
    n = len(X)
    weights = data["sample_weight"].tolist() if "sample_weight" in data else [1.0] * n
    offset = data["offset"].tolist() if "offset" in data else [0.0] * n
    labels = data["y"].tolist()
    fits = X.ndim == 2 and len(weights) == len(offset) == len(labels) == n
    need(fits, "the data do not fit together")
    kept = [i for i in range(n) if weights[i] != 0]
    X, labels = X[kept], [labels[i] for i in kept]
    weights, offset = ([float(v[i]) for i in kept] for v in (weights, offset))
    if loss.two_class:
        classes = sorted(set(labels))
        coded = set(classes) <= {-1, 1} and not isinstance(classes[0], bool)
        need(coded or len(classes) == 2, "y does not hold two classes")
        y = [float(x) if coded else 1.0 if x == classes[1] else -1.0 for x in labels]
    else:
        y = [float(x) for x in labels]
    fine = all(map(math.isfinite, (*y, *weights, *offset))) and bool(np.all(np.isfinite(X)))
    need(fine and min(weights) > 0, "the data are not finite, or a weight is negative")
    need(loss.name not in ("poisson", "amplitude") or min(y) >= 0, "y holds negative numbers")
    n, m = X.shape
    shape, own = document["data"]["shape"], [n, m]
    fits = shape == own and list(map(type, shape)) == [int, int]
    need(fits, "the data do not have the certificate's shape")
    same = fingerprint(X, y, weights, offset) == document["data"]["fingerprint"]
    need(same, "the data (X, y, weights or offset) are not those of the certificate")
    S, _ = exact(weights)
    intercept = problem["fit_intercept"]
    need(type(intercept) is bool, "fit_intercept is neither true nor false")
    need(not (intercept and loss.even), "this loss has no intercept")
    level = number(problem.get("level", 0.0))
    need(level == 0 or (intercept and loss.of_residual), "a level needs an intercept")
    columns, units = [], []
    center, scale = problem["center"], problem["scale"]
    need((center is None) == (scale is None), "center and scale go together")
    if center is not None:
        center, scale = vector(center, m), vector(scale, m)
        need(min(scale) > 0, "a scale must be above 0")
    for j, column in enumerate(X.T.tolist()):
        if center is None:
            ints, over = exact(column)
            columns.append(ints)
            units.append(Q(1, over))
            continue
        ints, over = exact([*column, center[j]])
        own_statistics(ints[:-1], over, S, center[j], scale[j], intercept)
        columns.append([x - ints[-1] for x in ints[:-1]])
        units.append(1 / (over * Q(scale[j])))
    leader = leaders(problem.get("groups", list(range(m))), m)
    if "recoding" in problem:
        need(center is not None, "a recoding needs a center and a scale")
        several = recoded(problem["recoding"], leader, columns, units, S)
        need(not several & set(problem["positive"]), "a sign is asked of a column that is recoded")
    k, ball = problem["k"], problem["ball"]
    need((k is None) != (problem["l0"] is None), "exactly one of k and l0 must be given")
    one = (problem["ridge"] is None) != (ball is None)
    need(one, "exactly one of ridge and ball must be given")
    need(k is None or (type(k) is int and k >= 0), "k must be a whole number")

    def numbers(value):
        if value is None:
            return [0.0] * m
        return vector(value, m) if isinstance(value, str) else [number(value)] * m

    there = all(type(j) is int and 0 <= j < m for one in lists for j in one)
    need(there, "a list names a feature that is not there")
    need(all(len(set(one)) == len(one) for one in lists), "a list names a feature twice")
    marks = [[j in one for j in range(m)] for one in map(set, lists)]
    need(not set(problem["always"]) & set(problem["never"]), "a feature is always and never in")
    whole = all(mark[head] == mark[j] for mark in marks[1:] for j, head in enumerate(leader))
    need(whole, "a part of a group is always or never in")
    price = [Q(x) if leader[j] == j else Q(0) for j, x in enumerate(numbers(problem["l0"]))]
    price = [Q(0) if held else x for held, x in zip(marks[1], price)]
    ridge = None if ball is not None else [Q(x) for x in numbers(problem["ridge"])]
    alike = ridge is None or all(ridge[j] == ridge[head] for j, head in enumerate(leader))
    need(alike or "recoding" not in problem, "the ridge differs between columns that are recoded")
    need(min(price) >= 0 and (Q(ball) > 0 if ridge is None else min(ridge) > 0), "prices and sizes")
    return Program(
        loss, columns, units, [Q(x) - level for x in y], S, [Q(x) for x in offset], intercept, k,
        price, ridge, None if ball is None else number(ball), marks, leader,
    )  # fmt: skip


def leaders(leader, m):
    """The first feature of each one's group."""
    need(type(leader) is list and len(leader) == m, "the groups are not one number per feature")
    known = all(type(head) is int and 0 <= head <= j for j, head in enumerate(leader))
    need(known and all(leader[head] == head for head in leader), "a group has no first feature")
    return leader


def own_statistics(ints, over, S, center, scale, centred):
    """Refuse a center and a scale that are not those of the column, up to 1e-6."""
    M, c = sum(S), Q(center)
    mean = Q(sum(map(mul, S, ints)), over * M)
    power = Q(sum(s * x * x for s, x in zip(S, ints)), over * over * M)
    # About the stored center, which is rounded: that may be all the spread there is.
    spread, far = power - 2 * c * mean + c * c, len(S) * abs(mean) / (1 << 51)
    still, size = scale == 1 and spread <= (far**2 if centred else 0), root(spread)
    at = mean if centred else 0
    near = abs(c - at) <= max(size, abs(at)) / 10**6
    near = near and (still or abs(scale - size) <= size / 10**6)
    need(near, "the stored column means and scales are not those of the data")


def check(path, data):
    """The claims of a certificate, proved about the data; Refused where they are not."""
    document, held = read(path)
    program, model = posed(document, data), document["model"]
    w = dict(zip(model["support"], map(number, model["coef"])))
    fits = len(w) == len(model["support"]) == len(model["coef"])
    need(fits and all(type(j) is int and 0 <= j < program.m for j in w), "the model is no model")
    claimed_lower, claimed_upper = number(document["lower"]), number(document["upper"])
    upper = program.objective(w, number(model["intercept"]))
    need(
        claimed_upper >= upper,
        f"it claims the upper bound {document['upper']!r}, but its model has {float(upper)!r}",
    )
    duals = [vector(text, program.n) for text in document["duals"]]
    boxes = [vector(text, program.n) for text in document.get("boxes", ())]
    leaves = leaves_of(program, document)
    need(document["tree"] is None or isinstance(document["tree"], dict), "the tree is none")
    if "rows" in document:
        lower = rows_bound(program, document["rows"], claimed_upper, boxes)
    elif document["tree"] is not None:
        lower = tree_bound(program, document["tree"])
    else:
        lower = leaves_bound(boxed(program, claimed_upper, boxes), leaves, duals)
    need(
        claimed_lower <= lower < INF,
        f"it claims the lower bound {document['lower']!r}, but its contents give {float(lower)!r}",
    )
    for one in held:
        for name in set(one) - one.asked - BESIDE if one.asked else ():
            raise Refused(f"this checker does not know the field {name}")
    return document["lower"], document["upper"]


FLAWS = (KeyError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError, zlib.error)
FLAWS += (RecursionError, MemoryError)


def judged(path, data):
    """The exit code, and what is proved of the data or the first thing that fails."""
    try:
        lower, upper = check(path, data)
    except Refused as error:
        return 1, f"Refused: {error}."
    except FLAWS as error:
        return 1, f"Refused: it is not well formed ({type(error).__name__}: {error})."
    proved = f"no model has an objective below {lower!r}, and the stored one has at most {upper!r}"
    return 0, f"Proved: {proved}."


def main(arguments):
    if len(arguments) != 2:
        print(__doc__)
        return 2
    try:
        code, sentence = judged(arguments[0], dict(np.load(arguments[1])))
    except (OSError, TypeError, ValueError) as error:
        code, sentence = 2, f"Cannot be read: {error}"
        if not arguments[1].endswith(".npz"):
            code, sentence = 2, f"{arguments[1]} must be an .npz archive with the arrays X and y."
    print(sentence)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
