"""What cross-validation chooses by: scores by name, as scikit-learn calls them."""

from __future__ import annotations

from dataclasses import dataclass

from sparsebounds._support.errors import InputError
from sparsebounds.losses import Loss
from sparsebounds.tables import did_you_mean

CLASS_SCORES = {
    "log_loss": "neg_log_loss",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "roc_auc": "roc_auc",
    "f1": "f1",
}
NUMBER_SCORES = {
    "r2": "r2",
    "mean_squared_error": "neg_mean_squared_error",
    "root_mean_squared_error": "neg_root_mean_squared_error",
    "mean_absolute_error": "neg_mean_absolute_error",
    "median_absolute_error": "neg_median_absolute_error",
    "mean_poisson_deviance": "neg_mean_poisson_deviance",
}
OF_MANY = {"roc_auc": "roc_auc_ovr", "f1": "f1_macro"}
"""The same for more than two classes."""


@dataclass(frozen=True)
class Scoring:
    """A score and how it is shown."""

    name: str
    scorer: str | None
    """scikit-learn's name; None: the default of the CV estimators."""

    @property
    def sign(self) -> float:
        """-1 where less is better, and scikit-learn's score is the negative."""
        return -1.0 if self.name in ("log_loss", *NUMBER_SCORES) and self.name != "r2" else 1.0

    @property
    def words(self) -> str:
        """The score's name in a sentence."""
        return "R2" if self.name == "r2" else self.name.replace("_", " ")

    @property
    def axis(self) -> str:
        """The score's name beside a chart of scikit-learn's values."""
        return f"minus the {self.words}" if self.sign < 0 else self.words


def scoring_of(asked: str | None, loss: Loss, classes: int) -> Scoring:
    """The score asked for, or the default of the loss; InputError where it does not fit."""
    if asked is None:
        default = "accuracy" if loss.name != "logistic" else "log_loss"
        return Scoring(default if loss.two_class else "r2", None)
    fitting = CLASS_SCORES if loss.two_class else NUMBER_SCORES
    name = asked.removeprefix("neg_")
    if name not in fitting:
        other = NUMBER_SCORES if loss.two_class else CLASS_SCORES
        about = "classes" if loss.two_class else "numbers"
        wrong = f"does not score {about}" if name in other else "is not known"
        raise InputError(
            f"--scoring {asked!r} {wrong}; pass one of {', '.join(fitting)}."
            f"{did_you_mean(name, fitting)}"
        )
    if name == "log_loss" and loss.name != "logistic":
        raise InputError(
            f"--scoring log_loss needs probabilities, which --loss {loss.name} does not give; pass "
            "--loss logistic, or --scoring accuracy."
        )
    if name == "log_loss":
        return Scoring(name, None)
    return Scoring(name, OF_MANY.get(name, fitting[name]) if classes > 2 else fitting[name])
