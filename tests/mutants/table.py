"""The mutants: slips of mathematics, each in one line, and the tests that must notice.

`old` is a piece of one line of `file` (a path below src/sparsebounds). It must occur exactly once
in the file, or in the function or class `within`. Where code moves, mend the row here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A fault, and the tests (files or node ids, below tests/) that should fail with it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    within: str | None = None


def _of(name: str, file: str, old: str, new: str, *tests: str, within: str | None = None) -> Mutant:
    return Mutant(name, file, old, new, tuple(f"tests/{test}" for test in tests), within)


ROUNDING = "_support/test_rounding.py"
LOWER = "bounds/test_lower.py"
SCREENING = "bounds/test_screening.py"
MANY = "bounds/test_many.py"
GRAM_BOUNDS = "bounds/test_gram.py"
CURVATURE = "bounds/test_curvature.py"
MINORANT = "bounds/test_minorant.py"
REGION = "bounds/test_region.py"
EXHAUSTIVE = "bounds/test_exhaustive.py"
CHOICES = "bounds/test_choices.py"
ROWS = "bounds/test_rows.py"
ROW_TREE = "certificates/test_row_tree.py"
FORGED_MINORANTS = "certificates/test_minorants.py"
COVER = "certificates/test_cover.py"
TAMPERING = "certificates/test_tampering.py"
TREE = "certificates/test_tree.py"
PENALTY = "penalties/test_pieces.py"
SELECTION = "penalties/test_selection.py"
SMOOTH = "relaxation/test_smooth.py"
NEWTON = "relaxation/test_newton.py"
BALL = "relaxation/test_ball.py"
RELAX = "relaxation/test_relax.py"
MODELS = "models/test_models.py"
SEARCH = "exact/test_search.py"
NEAR = "exact/test_near.py"
DIAGONAL = "exact/test_diagonal.py"
ROOT = "exact/test_root.py"
RECIPE = "tables/test_recipe.py"
PATH = "paths/test_path.py"

MUTANTS: tuple[Mutant, ...] = (
    # Directed rounding.
    _of(
        "rounding: up does not round",
        "_support/rounding.py",
        "return np.nextafter(x, np.inf)",
        "return x",
        f"{ROUNDING}::test_rounding_helpers",
    ),
    _of(
        "rounding: half a unit for long arrays",
        "_support/rounding.py",
        "step *= 2.0 * U",
        "step *= 0.5 * U",
        f"{ROUNDING}::test_rounding_of_long_arrays",
    ),
    _of(
        "rounding: sum_up forgets the radius",
        "_support/rounding.py",
        "return up(total + radius)",
        "return total",
        f"{ROUNDING}::test_directed_sums_and_norms",
    ),
    _of(
        "rounding: errors of long sums lost",
        "_support/rounding.py",
        "errors += float(np.sum(lost))",
        "errors -= float(np.sum(lost))",
        f"{ROUNDING}::test_long_sums_are_exact_to_their_radius",
        within="exact_sum",
    ),
    _of(
        "rounding: gamma of one sign",
        "_support/rounding.py",
        "return up(up(n * U) / down(1.0 - n * U))",
        "return n * U / (1.0 + n * U)",
        f"{ROUNDING}::test_rounding_helpers",
    ),
    _of(
        "rounding: the norm of negative numbers",
        "_support/rounding.py",
        "-float(np.min(x, initial=0.0))",
        "float(np.min(x, initial=0.0))",
        f"{ROUNDING}::test_directed_sums_and_norms",
    ),
    _of(
        "rounding: a product's error of wrong sign",
        "_support/rounding.py",
        "+ x_low * y_low",
        "- x_low * y_low",
        f"{ROUNDING}::test_exact_products",
    ),
    # Bounds: the dual point.
    _of(
        "dual: inner products taken as exact",
        "bounds/dual.py",
        "radius += inner",
        "radius += 0.0",
        f"{ROUNDING}::test_inner_products_are_paid_for_in_any_order",
    ),
    _of(
        "dual: the wrong side of a sign",
        "bounds/dual.py",
        "np.where(program.positive, -scores, np.abs(scores))",
        "np.where(program.positive, scores, np.abs(scores))",
        f"{LOWER}::test_never_above_the_optimum",
    ),
    _of(
        "dual: the offset's sign",
        "bounds/dual.py",
        "up(-end * program.offset[rows])",
        "up(end * program.offset[rows])",
        f"{LOWER}::test_never_above_the_optimum",
    ),
    _of(
        "dual: imbalance is not charged",
        "bounds/dual.py",
        "up(up(imbalance / down(program.mass)) * reach_b)",
        "0.0",
        f"{LOWER}::test_vectors_off_balance_pay_for_every_intercept",
    ),
    # Bounds: the gain of the best support.
    _of(
        "lower: a factor of 2 in the gains",
        "bounds/lower.py",
        "up(up(0.5 * up(reach * reach)) / ridges)",
        "up(up(0.25 * up(reach * reach)) / ridges)",
        f"{LOWER}::test_never_above_the_optimum",
    ),
    _of(
        "lower: the top-k sum has k - 1 terms",
        "bounds/lower.py",
        "[len(gains) - count :]",
        "[len(gains) - count + 1 :]",
        f"{LOWER}::test_never_above_the_optimum",
    ),
    _of(
        "lower: prefixes of the worst gains",
        "bounds/lower.py",
        "np.cumsum(np.sort(gains)[::-1])",
        "np.cumsum(np.sort(gains))",
        f"{LOWER}::test_never_above_the_optimum",
    ),
    _of(
        "lower: the ball's factor",
        "bounds/lower.py",
        "return up(math.sqrt(up(program.ball * up(",
        "return up(math.sqrt(up(0.5 * program.ball * up(",
        f"{LOWER}::test_never_above_the_optimum",
    ),
    _of(
        "lower: one price too many is paid",
        "bounds/lower.py",
        "paid = down(price * (np.arange(low, high + 1)",
        "paid = down(price * (np.arange(low + 1, high + 2)",
        f"{LOWER}::test_never_above_the_optimum",
    ),
    _of(
        "lower: few features left out by mistake",
        "bounds/lower.py",
        "np.union1d(some, np.flatnonzero(mandatory)) if mandatory.any() else some",
        "some",
        "bounds/test_many_features.py",
    ),
    _of(
        "node: features in do not use the budget",
        "bounds/node.py",
        "most = min(most, limit - len(self.inside))",
        "most = min(most, limit - 1)",
        f"{LOWER}::test_node_bounds",
    ),
    _of(
        "cardinality: prices off by one",
        "bounds/cardinality.py",
        "down(price * np.arange(len(free)))",
        "down(price * np.arange(1, len(free) + 1))",
        f"{LOWER}::test_cardinality_curve_bounds_each_cardinality",
    ),
    _of(
        "cardinality: the largest size left out",
        "bounds/cardinality.py",
        "np.append(starts[1:] - 1, len(winner) - 1)",
        "np.append(starts[1:] - 1, len(winner) - 2)",
        f"{LOWER}::test_cardinality_curve_bounds_each_cardinality",
    ),
    _of(
        "upper: predictions taken as exact",
        "bounds/upper.py",
        "ends = (down(z - radius), up(z + radius))",
        "ends = (z, z)",
        f"{ROUNDING}::test_cancelling_predictions_are_paid_for",
    ),
    # Bounds: forcing, screening, many nodes, shifted curvature.
    _of(
        "forcing: the best feature makes room",
        "bounds/forcing.py",
        "into = up(others[-1] + gains)",
        "into = up(others[0] + gains)",
        f"{SCREENING}::test_forced_bounds_agree_with_child_nodes",
    ),
    _of(
        "forcing: claims know one eta",
        "bounds/forcing.py",
        "into = up(into + np.minimum(more, np.maximum(-gains[chosen], 0.0)))",
        "into = up(into + 0.0 * np.minimum(more, np.maximum(-gains[chosen], 0.0)))",
        f"{SCREENING}::test_claims_hold_for_other_last_digits[l0+ball]",
    ),
    _of(
        "forcing: nobody steps in",
        "bounds/forcing.py",
        "out[taken] = up(others + gains[order[budget]])",
        "out[taken] = others",
        f"{SCREENING}::test_forced_bounds_agree_with_child_nodes",
    ),
    _of(
        "screening: in and out swapped",
        "bounds/screening.py",
        "i[forced.outside > upper], i[forced.inside > upper]",
        "i[forced.inside > upper], i[forced.outside > upper]",
        f"{SCREENING}::test_no_fixing_is_wrong[squared-k+ridge]",
    ),
    _of(
        "screening: the center's sign",
        "bounds/screening.py",
        "center = -point.scores[i] / bend",
        "center = point.scores[i] / bend",
        f"{SCREENING}::test_no_fixing_is_wrong[squared-k+ridge]",
    ),
    _of(
        "screening: boxes of half the area",
        "bounds/screening.py",
        "up(2.0 * room)",
        "up(0.5 * room)",
        f"{SCREENING}::test_no_fixing_is_wrong[squared-k+ridge]",
    ),
    _of(
        "many: always-in features use the budget",
        "bounds/many.py",
        "np.count_nonzero((state > 0) & program.free, axis=1)",
        "np.count_nonzero(state > 0, axis=1)",
        f"{MANY}::test_features_always_in_do_not_use_the_budget",
    ),
    _of(
        "many: the offset's sign",
        "bounds/many.py",
        "value - t * program.offset",
        "value + t * program.offset",
        MANY,
    ),
    _of(
        "gram: the sign of the curvature moved",
        "bounds/gram.py",
        "pull = scores - d * w[live]",
        "pull = scores + d * w[live]",
        GRAM_BOUNDS,
    ),
    _of(
        "gram: convexity of the wrong matrix",
        "bounds/curvature.py",
        "-= d * np.square(unit) + spare",
        "+= d * np.square(unit) - spare",
        GRAM_BOUNDS,
    ),
    # Cover and verification.
    _of(
        "cover: a gap of one cardinality",
        "certificates/cover.py",
        "need = max(need, high + 1)",
        "need = max(need, high + 2)",
        COVER,
    ),
    _of(
        "cover: in and out swapped",
        "certificates/cover.py",
        "if feature not in box.outside",
        "if feature not in box.inside",
        COVER,
    ),
    _of(
        "verification: the data are not compared",
        "certificates/verification.py",
        "if program.fingerprint != certificate.fingerprint:",
        "if not program.fingerprint:",
        f"{TAMPERING}::test_other_data",
    ),
    _of(
        "verification: the upper claim is not checked",
        "certificates/verification.py",
        "if not certificate.upper >= upper or math",
        "if math",
        f"{TAMPERING}::test_a_lowered_upper_bound",
    ),
    _of(
        "verification: claims compared loosely",
        "certificates/verification.py",
        "certificate.lower <= lower < math.inf",
        "certificate.lower <= lower + 1e-9 < math.inf",
        f"{TAMPERING}::test_a_raised_lower_bound",
    ),
    _of(
        "verification: leaves may fix any feature",
        "certificates/verification.py",
        "if not np.all(program.free[listed]):",
        "if not np.any(program.free):",
        f"{TAMPERING}::test_leaves_that_split_on_a_fixed_feature",
    ),
    _of(
        "verification: any scales will do",
        "certificates/verification.py",
        "SAME = 1e-6",
        "SAME = 1.0",
        f"{TAMPERING}::test_centers_and_scales_a_little_off",
    ),
    _of(
        "tree: removal proved the wrong way round",
        "certificates/tree.py",
        "features, inside = forced.features, forced.inside",
        "features, inside = forced.features, forced.outside",
        f"{TREE}::test_a_feature_may_not_be_removed_without_proof",
    ),
    _of(
        "tree: fixings proved the wrong way round",
        "certificates/tree.py",
        "((bounds.outside, inside), (bounds.inside, outside))",
        "((bounds.inside, inside), (bounds.outside, outside))",
        f"{TREE}::test_saved_trees_are_verified",
        f"{SEARCH}::test_hard_columns",
    ),
    _of(
        "tree: a feature may be split on twice",
        "certificates/tree.py",
        "if after[feature] != 0:",
        "if after[feature] > 1:",
        f"{TREE}::test_forged_trees_are_refused",
    ),
    _of(
        "tree: the children change places",
        "certificates/tree.py",
        "child[program.groups.whole(np.array([feature]))] = 2 * side - 1",
        "child[program.groups.whole(np.array([feature]))] = 1 - 2 * side",
        f"{SEARCH}::test_hard_columns",
    ),
    # Penalties, as the solver sees them.
    _of(
        "penalty: the half in the k form's value",
        "penalties/k_ridge.py",
        "return 0.5 * float(t @ steep)",
        "return float(t @ steep)",
        PENALTY,
    ),
    _of(
        "penalty: twice the price in the conjugate",
        "penalties/l0_ridge.py",
        "super().gains(s) - self.l0",
        "super().gains(s) - 2.0 * self.l0",
        PENALTY,
    ),
    _of(
        "penalty: features inside use the budget",
        "penalties/base.py",
        "int(np.count_nonzero(full & ~held))",
        "int(np.count_nonzero(full))",
        PENALTY,
    ),
    _of(
        "penalty: weights of features inside",
        "penalties/base.py",
        "return np.where(self.inside, 1.0, self.groups.spread(u))",
        "return self.groups.spread(u)",
        PENALTY,
    ),
    _of(
        "penalty: the prox forgets the step",
        "penalties/l0_ridge.py",
        "np.maximum(ratio - shift, 0.0)",
        "np.maximum(ratio, 0.0)",
        PENALTY,
    ),
    _of(
        "selection: a level set without its floor",
        "penalties/selection.py",
        "return (scores >= floor, floor)",
        "return (scores > floor, floor)",
        f"{SELECTION}::test_a_level_set_is_large_enough",
    ),
    _of(
        "selection: ties counted once more",
        "penalties/selection.py",
        "ties = int(np.count_nonzero(high >= a[0])) - k",
        "ties = int(np.count_nonzero(high >= a[0])) - k + 1",
        f"{SELECTION}::test_slope_spends_the_budget",
    ),
    # Newton's method, the ball's multiplier, the smooth parts, the working set.
    _of(
        "newton: the direction's share",
        "relaxation/newton.py",
        "blas.dsyr(1.0 / pattern.share",
        "blas.dsyr(1.0",
        NEWTON,
    ),
    _of(
        "newton: the linear term's sign",
        "relaxation/newton.py",
        "point.w[active] - pattern.linear",
        "point.w[active] + pattern.linear",
        NEWTON,
    ),
    _of(
        "newton: the ridge is forgotten",
        "relaxation/newton.py",
        "+= pattern.ridge + proximal[active]",
        "+= proximal[active]",
        NEWTON,
    ),
    _of(
        "newton: an unbalanced intercept is free",
        "relaxation/newton.py",
        "charge = abs(point.slope) * (1.0 + abs(point.b))",
        "charge = 0.0",
        NEWTON,
    ),
    _of(
        "newton: coordinates dropped the wrong way",
        "relaxation/newton.py",
        "moved: Vector = solution - Z @ share",
        "moved: Vector = solution + Z @ share",
        NEWTON,
    ),
    _of(
        "ball: a mixture outside the ball",
        "relaxation/ball.py",
        "share = (ball - within.size)",
        "share = (out.size - ball)",
        BALL,
    ),
    _of(
        "ball: the multiplier's half",
        "relaxation/ball.py",
        "- 0.5 * eta * ball",
        "- 0.25 * eta * ball",
        BALL,
    ),
    _of(
        "smooth: the linear term counted twice",
        "relaxation/gram_part.py",
        "0.5 * float(w @ (gradient - self._linear))",
        "0.5 * float(w @ gradient) - float(w @ self._linear)",
        SMOOTH,
    ),
    _of(
        "smooth: the right side without its gradient",
        "relaxation/general_part.py",
        "fetch(product(rows, bend * point.z)) - gradient",
        "fetch(product(rows, bend * point.z))",
        SMOOTH,
    ),
    _of(
        "smooth: columns are not centred",
        "relaxation/gram_part.py",
        "means, columns = fetch(shift), columns - shift",
        "means = fetch(shift)",
        SMOOTH,
    ),
    _of(
        "smooth: curvature added, not taken",
        "relaxation/gram_part.py",
        "[:] -= diagonal",
        "[:] += diagonal",
        SMOOTH,
    ),
    _of(
        "working set: the penalty is forgotten",
        "relaxation/working_set.py",
        "value = program.F.value(image) + cost",
        "value = program.F.value(image)",
        f"{RELAX}::test_agrees_with_the_conic_solver[random-squared-k+ridge]",
    ),
    _of(
        "working set: violators are not added",
        "relaxation/working_set.py",
        "self._best(self.last.strength > threshold,",
        "self._best(self.last.strength > 2.0 * threshold,",
        f"{RELAX}::test_warm_starts_reach_the_same_in_fewer_steps",
    ),
    # Models.
    _of(
        "exchange: the swap's sign",
        "models/exchange.py",
        "top += rho",
        "top -= rho",
        f"{MODELS}::test_exchange_table_is_exact_for_a_quadratic",
    ),
    _of(
        "exchange: the most that the features in may reach",
        "models/exchange.py",
        "np.sqrt(room) + np.sqrt(room + left)",
        "np.sqrt(left)",
        f"{MODELS}::test_best_swap_is_the_first_of_all_that_help",
    ),
    _of(
        "exchange: the Schur complement's sign",
        "models/exchange.py",
        "model.curvature - taken",
        "model.curvature + taken",
        f"{MODELS}::test_exchange_table_is_exact_for_a_quadratic",
    ),
    _of(
        "search: no room where there is some",
        "models/improvement.py",
        "program.k - counted",
        "program.k - counted - 1",
        f"{MODELS}::test_descents_fill_the_budget",
    ),
    _of(
        "search: the intercept's part of the quadratic",
        "models/hessian.py",
        "found -= (self._mass * self._mean[fresh])[:, None] * self._mean",
        "found += (self._mass * self._mean[fresh])[:, None] * self._mean",
        "models/test_hessian.py",
    ),
    _of(
        "search: the intercept's part in one pass",
        "models/pool.py",
        "hessian -= sums[:, None] * rest",
        "hessian += sums[:, None] * rest",
        "models/test_hessian.py::test_moments_are_less_the_means_under_the_weights",
    ),
    _of(
        "refit: outside the ball by rounding",
        "fitting/refit.py",
        "w = inside_ball(program, w)",
        "w = w * 1.0",
        f"{MODELS}::test_refit_is_the_best_on_its_support",
        within="_model",
    ),
    _of(
        "refit: features always in are forgotten",
        "fitting/refit.py",
        "np.concatenate((support, program.problem.always)).astype(np.int64)",
        "np.asarray(support).astype(np.int64)",
        f"{MODELS}::test_refit_is_the_best_on_its_support",
    ),
    # Exact search.
    _of(
        "exact ridge: fixed on the wrong side",
        "exact/ridge.py",
        "np.minimum(gains, 0.0) > upper)] = -1",
        "np.minimum(gains, 0.0) > upper)] = 1",
        f"{SEARCH}::test_hard_columns",
    ),
    _of(
        "exact ridge: an exchange with itself",
        "exact/ridge.py",
        "nodes.lower[i] + ordered[place] - row > upper",
        "nodes.lower[i] + ordered[-1] - row > upper",
        f"{SEARCH}::test_hard_columns",
    ),
    _of(
        "exact ridge: features in gain nothing",
        "exact/ridge.py",
        "np.sum(np.where(state > 0, gains, 0.0), axis=1)",
        "0.0",
        f"{SEARCH}::test_hard_columns",
    ),
    _of(
        "exact ball: fixed on the wrong side",
        "exact/ball.py",
        "(bounds.inside > upper)] = -1",
        "(bounds.inside > upper)] = 1",
        f"{SEARCH}::test_the_ball_decides_features_the_right_way",
    ),
    _of(
        "exact search: both children on one side",
        "exact/feature_search.py",
        "child[group], left[group] = side, -side",
        "child[group], left[group] = side, side",
        f"{SEARCH}::test_hard_columns",
    ),
    _of(
        "exact search: nodes closed too soon",
        "exact/engine.py",
        "upper - MARGIN * tol * program.size(upper + base)",
        "upper - 1e4 * tol * program.size(upper + base)",
        f"{SEARCH}::test_hard_columns",
    ),
    _of(
        "exact search: better models are not taken",
        "exact/engine.py",
        "if model.value < self.incumbent.value:",
        "if model.value < 0.9 * self.incumbent.value:",
        f"{SEARCH}::test_hard_columns",
    ),
    _of(
        "bounder: always-in features use the budget",
        "exact/bounder.py",
        "np.count_nonzero((state > 0) & self.program.free, axis=1)",
        "np.count_nonzero(state > 0, axis=1)",
        f"{SEARCH}::test_features_always_in_do_not_use_the_budget",
    ),
    _of(
        "enumeration: in and out swapped",
        "exact/enumeration.py",
        "inside, outside = bounds.outside >= cutoff, bounds.inside >= cutoff",
        "inside, outside = bounds.inside >= cutoff, bounds.outside >= cutoff",
        f"{NEAR}::test_the_list_is_that_of_exhaustive_enumeration[squared-k+ball]",
    ),
    _of(
        "enumeration: one feature less than allowed",
        "exact/enumeration.py",
        "full = (counted >= self.program.k)",
        "full = (counted + 1 >= self.program.k)",
        f"{NEAR}::test_the_list_is_that_of_exhaustive_enumeration[squared-k+ball]",
    ),
    _of(
        "enumeration: open supports are forgotten",
        "exact/enumeration.py",
        "live = (bounds.lower < cutoff)",
        "live = (bounds.lower < self.incumbent.value)",
        f"{NEAR}::test_the_list_is_that_of_exhaustive_enumeration[squared-k+ball]",
    ),
    _of(
        "enumeration: the cutoff of the larger program",
        "exact/enumeration.py",
        "return up(self.level - self.base)",
        "return up(self.level)",
        f"{NEAR}::test_smaller_programs_and_leaves_lose_nothing[k-plain]",
    ),
    _of(
        "diagonal: the trial is not curbed",
        "exact/diagonal.py",
        "[:] -= part / largest * variance",
        "[:] += part / largest * variance",
        DIAGONAL,
    ),
    _of(
        "diagonal: features in lend what they keep",
        "exact/diagonal.py",
        "lent = np.where(inside, (1.0 - KEPT) * ridge, 0.0)",
        "lent = np.where(inside, 0.0, (1.0 - KEPT) * ridge)",
        DIAGONAL,
    ),
    _of(
        "record: features out off by one",
        "exact/record.py",
        "np.concatenate((inside, -1 - outside))",
        "np.concatenate((inside, -outside))",
        f"{SEARCH}::test_hard_columns",
    ),
    _of(
        "record: the children change places",
        "exact/record.py",
        "return 2 * self.splits - 1, 2 * self.splits",
        "return 2 * self.splits, 2 * self.splits - 1",
        f"{SEARCH}::test_hard_columns",
    ),
    # Tables.
    _of(
        "tables: the first of two values is shown",
        "tables/recipe.py",
        "return values[1:] if len(values) == 2",
        "return values[:1] if len(values) == 2",
        RECIPE,
    ),
    _of(
        "tables: gaps filled from the held-out rows",
        "tables/learn.py",
        "columns = _filled(columns, train, choice.impute, path)",
        "columns = _filled(columns, frame, choice.impute, path)",
        RECIPE,
    ),
    _of(
        "tables: classes are not kept apart",
        "tables/response.py",
        "stratify=y if labels and room else None",
        "stratify=None",
        "tables/test_split.py",
    ),
    _of(
        "tables: an infinite number passes",
        "tables/missing.py",
        "pl.selectors.float().abs() > LARGEST",
        "pl.selectors.float() > LARGEST",
        "tables/test_choice.py",
    ),
    # Curvature moved into the ridge, and supports that are all tried.
    _of(
        "curvature: no margin in the factorisation",
        "bounds/curvature.py",
        "-= d * np.square(unit) + spare",
        "-= d * np.square(unit)",
        f"{CURVATURE}::test_what_is_just_accepted_is_definite",
    ),
    _of(
        "curvature: the room depends on units",
        "bounds/curvature.py",
        "n, count, square = self.depth, len(live), np.square(unit)",
        "n, count, square = self.depth, len(live), unit",
        f"{CURVATURE}::test_the_room_is_more_than_the_rounding",
    ),
    _of(
        "curvature: kappa rounded up",
        "bounds/curvature.py",
        "kappa *= 1.0 - wider * 4.0 * gamma(n + 16)",
        "kappa *= 1.0 + wider * 4.0 * gamma(n + 16)",
        f"{CURVATURE}::test_the_linear_part",
    ),
    _of(
        "minorant: what is left of the slope is free",
        "bounds/minorant.py",
        "return kappa - gained - lost - wider",
        "return kappa - gained - wider",
        f"{MINORANT}::test_another_target_costs_what_it_is_off_by",
    ),
    _of(
        "minorant: the ball is free",
        "bounds/minorant.py",
        "lost += 0.5 * self.eta * program.ball",
        "lost += 0.0",
        f"{MINORANT}::test_it_lies_below_for_every_model",
    ),
    _of(
        "region: secants to one side",
        "bounds/region.py",
        "for end in (down(z - reach), up(z + reach)):",
        "for end in (up(z + reach),):",
        f"{REGION}::test_secants_are_not_too_large_and_nearly_the_largest",
    ),
    _of(
        "region: the intercept has no leverage",
        "bounds/region.py",
        "size = np.sqrt(np.square(size) + (1.0 + 4.0 * gamma(program.n + 16)) / curvature.whole)",
        "size = size * (1.0 + 4.0 * gamma(program.n + 16))",
        f"{REGION}::test_leverages_are_not_too_small",
    ),
    _of(
        "region: curvatures are not checked",
        "bounds/region.py",
        "np.all(least >= self.bend)",
        "np.all(least >= 0.0)",
        f"{REGION}::test_what_is_no_region",
    ),
    _of(
        "region: features are where they are best",
        "bounds/region.py",
        "into = 0.5 * ridges * np.square(away)",
        "into = 0.0 * ridges * np.square(away)",
        f"{REGION}::test_the_distance_of_a_model_from_the_center",
    ),
    _of(
        "tree: no level limits a minorant",
        "certificates/tree.py",
        "removal = min(removal, tree.minorant.level)",
        "removal = min(removal, np.inf)",
        f"{ROOT}::test_on_a_region_it_is_a_bound",
    ),
    _of(
        "exhaustion: the room on the wrong side",
        "bounds/exhaustive.py",
        "ridge * np.square(unit) - spared * room",
        "ridge * np.square(unit) + spared * room",
        f"{EXHAUSTIVE}::test_the_best_is_found",
    ),
    _of(
        "exhaustion: always-in features use the budget",
        "bounds/exhaustive.py",
        "return int(np.count_nonzero((state > 0) & self.program.free))",
        "return int(np.count_nonzero(state > 0))",
        f"{EXHAUSTIVE}::test_the_best_is_found",
    ),
    _of(
        "exhaustion: the largest supports only",
        "bounds/exhaustive.py",
        "for size in range(leaf.size + 1):",
        "for size in range(leaf.size, leaf.size + 1):",
        f"{EXHAUSTIVE}::test_the_best_is_found",
    ),
    _of(
        "choices: the second group of a pair alone",
        "bounds/choices.py",
        "np.subtract(self.pull, rest, out=rest)",
        "np.subtract(self.pull, 0.0, out=rest)",
        f"{CHOICES}::test_bounds_are_no_smaller",
    ),
    _of(
        "choices: what two groups share is forgotten in a third",
        "bounds/choices.py",
        "left *= norm[rest, rest]",
        "left *= 0.0",
        f"{CHOICES}::test_bounds_are_no_smaller",
    ),
    _of(
        "choices: a group counts as its first column",
        "bounds/choices.py",
        "return values if self.alone else np.add.reduceat(values, self.starts, axis=axis)",
        "return values if self.alone else np.take(values, self.starts, axis=axis)",
        f"{CHOICES}::test_bounds_are_no_smaller",
    ),
    _of(
        "tree: the base of a minorant is forgotten",
        "certificates/tree.py",
        "float(down(base + bound))",
        "float(down(bound))",
        f"{ROOT}::test_it_is_a_bound",
    ),
    _of(
        "tree: leaves of any size are tried",
        "certificates/tree.py",
        "if exhaustion.effort(after) > MOST_TRIED:",
        "if exhaustion.effort(after) < 0.0:",
        f"{FORGED_MINORANTS}::test_problems_of_which_supports_are_not_tried",
    ),
    _of(
        "root: the bound is claimed without room",
        "exact/root.py",
        "nodes_bound(small, columns, tree, {}, claim=True)",
        "nodes_bound(small, columns, tree, {}, claim=False)",
        f"{ROOT}::test_it_is_a_bound",
    ),
    # Paths.
    _of(
        "path: prices off by one",
        "paths/shared.py",
        "down(program.l0 * self._cells)",
        "down(program.l0 * (self._cells + 1))",
        f"{PATH}::test_shared_vectors_prove_what_each_of_them_proves",
    ),
    _of(
        "path: the bound of a smaller budget",
        "paths/shared.py",
        "place = int(np.searchsorted(self._cells, min(program.k, self._free)))",
        "place = int(np.searchsorted(self._cells, min(program.k, self._free) - 1))",
        f"{PATH}::test_shared_vectors_prove_what_each_of_them_proves",
    ),
    _of(
        "path: bounds rounded up",
        "paths/shared.py",
        "math.floor(lower / grid) * grid",
        "math.ceil(lower / grid) * grid",
        f"{PATH}::test_coarse_bounds_are_below",
    ),
    _of(
        "path: stops by the bound of the point itself",
        "paths/course.py",
        "ends = [(row.upper_at(end), self.lower(end))]",
        "ends = [(row.certificate.upper, self.lower(row.program))]",
        f"{PATH}::test_stop_is_what_it_claims",
    ),
    _of(
        "path: the value of another point",
        "paths/rows.py",
        "return objective_up(program, self.w, self.certificate.intercept, wider=WIDER)",
        "return self.certificate.upper",
        f"{PATH}::test_a_model_is_worth_at_a_price_what_it_costs_there",
    ),
    # Rows: the truncated loss.
    _of(
        "rows: coefficients that no model has need no curvature",
        "bounds/rows.py",
        "span: Mask = used.copy()",
        "span: Mask = np.zeros_like(used)",
        f"{ROWS}::test_coefficients_of_features_that_no_model_has",
    ),
    _of(
        "rows: what the point lends is free",
        "bounds/rows.py",
        "total = total - lend - held - paid - self.ball",
        "total = total - held - paid - self.ball",
        f"{ROWS}::test_bounds_hold_at_any_numbers",
    ),
    _of(
        "rows: the ball is free",
        "bounds/rows.py",
        "total = total - lend - held - paid - self.ball",
        "total = total - lend - held - paid",
        f"{ROWS}::test_bounds_hold_at_any_numbers",
    ),
    _of(
        "rows: the range of the intercept is free",
        "bounds/rows.py",
        "return paid + lends, unsure + 2.0**-46 * scale",
        "return paid, unsure + 2.0**-46 * scale",
        f"{ROWS}::test_the_range_of_the_intercept_pays_for_what_it_lends",
    ),
    _of(
        "rows: forced features without a proof of convexity",
        "bounds/rows.py",
        "if not self._proved(rows, state, w != 0.0, lent):",
        "if False:",
        f"{ROWS}::test_bounds_hold_at_any_numbers",
        f"{ROWS}::test_large_shares_are_not_convex",
        within="forced",
    ),
    _of(
        "rows: a smaller curvature of rows in doubt",
        "bounds/row_loss.py",
        "self.least = np.where(self.doubt, -self.kappa, self.inlier * 1.0)",
        "self.least = np.where(self.doubt, -theta, self.inlier * 1.0)",
        f"{ROWS}::test_the_losses_of_rows",
    ),
    _of(
        "rows: a tangent at an intercept that models have not",
        "bounds/rows.py",
        "if np.any(b != 0.0) and not self.program.fit_intercept:",
        "if False:",
        f"{ROWS}::test_what_cannot_be_lent_proves_nothing",
    ),
    _of(
        "smooth rows: too little curvature is paid for",
        "bounds/row_smooth.py",
        "self.least, self._kappa = -kappa, kappa",
        "self.least, self._kappa = -theta, kappa",
        "bounds/test_row_smooth.py::test_parabolas_lie_below_the_loss",
    ),
    _of(
        "ramp rows: a line that passes above the hinge",
        "bounds/row_ramp.py",
        "line = part * s - line - 2.0**-48 * (np.abs(part * s) + line)",
        "line = np.ones_like(line)",
        "bounds/test_row_ramp.py::test_parabolas_lie_below_the_loss",
    ),
    _of(
        "row tree: a leaf bounded at any node",
        "certificates/row_tree.py",
        "if scope is None or np.any((scope != 0) & (scope != state)):",
        "if scope is None:",
        f"{ROW_TREE}::test_forged_trees_are_refused",
        f"{ROW_TREE}::test_other_numbers_are_true_or_prove_less",
    ),
    _of(
        "row checkpoint: a file is believed",
        "exact/row_checkpoint.py",
        "min(leaf.lower, float(lower[at[leaf.node]]))",
        "float(lower[at[leaf.node]])",
        "exact/test_row_checkpoint.py::test_damaged_files",
    ),
    _of(
        "row tree: switches set twice",
        "certificates/row_tree.py",
        "if not 0 <= switch < count or state[switch] != 0:",
        "if not 0 <= switch < count:",
        f"{ROW_TREE}::test_forged_trees_are_refused",
        f"{ROW_TREE}::test_other_numbers_are_true_or_prove_less",
    ),
    _of(
        "groups: a group gains what its first feature does",
        "bounds/lower.py",
        "total: Vector = groups.sums(values) * (1.0 + 2.0 * U * (groups.largest + 2.0))",
        "total: Vector = groups.led(values)",
        "groups/test_groups.py::test_bounds_hold_and_models_are_whole",
    ),
    _of(
        "groups: nodes gain what first features do",
        "bounds/many.py",
        "program.groups.gather(np.square(size) / (2.0 * program.ridges))",
        "(np.square(size) / (2.0 * program.ridges) * program.groups.lead)",
        "groups/test_groups.py::test_bounds_hold_and_models_are_whole",
    ),
    _of(
        "groups: every feature is counted",
        "program.py",
        "support = np.unique(self.groups.leaders[support])",
        "support = np.unique(support)",
        "groups/test_groups.py::test_bounds_hold_and_models_are_whole",
    ),
    _of(
        "groups: the cone is flat",
        "penalties/base.py",
        "ridge = np.where(full | cone, ridge * bend, 0.0)",
        "ridge = np.where(full, ridge * bend, 0.0)",
        "groups/test_groups.py::test_the_relaxation_is_that_of_the_referee",
    ),
    _of(
        "groups: a tree decides about a part of one",
        "certificates/tree.py",
        "len(program.groups.whole(tree.kept)) > len(tree.kept)",
        "len(program.groups.whole(tree.kept)) > program.m",
        "groups/test_groups.py::test_a_forged_part_of_a_group_is_refused",
    ),
    # Rows that are one, and columns that say the same.
    _of(
        "patterns: a value more is none",
        "fitting/patterns.py",
        "pattern.of * few + kinds.kind",
        "pattern.of * few",
        "fitting/test_patterns.py",
    ),
    _of(
        "patterns: responses are mixed up",
        "fitting/patterns.py",
        "of * few + responses.kind[i]",
        "of * few + responses.kind[0]",
        "fitting/test_patterns.py",
    ),
    _of(
        "twins: a mirror image is one, whatever is asked",
        "tables/twins.py",
        "same &= r > 0.0",
        "same &= r > -2.0",
        "tables/test_look.py::test_twins_differ_in_no_more_than_is_allowed",
    ),
    _of(
        "twins: a cell in common is enough",
        "tables/twins.py",
        "(1.0 - ALIKE) * np.sqrt(lengths * left)",
        "-np.sqrt(lengths * left)",
        "tables/test_look.py::test_a_cell_in_common_makes_no_twins",
    ),
    _of(
        "Ctrl-C: boxes go on",
        "solving/nonconvex.py",
        "late = interrupted or finish",
        "late = finish",
        "solving/test_solve.py::test_control_c_in_a_relaxation_ends_the_work",
    ),
)
