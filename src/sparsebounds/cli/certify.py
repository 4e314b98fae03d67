"""sparsebounds certify: how far from the best possible is a model, whoever found it?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sparsebounds._support.deadline import Deadline
from sparsebounds.cli import _options as options
from sparsebounds.cli._groups import grouped
from sparsebounds.cli._model_files import load_model
from sparsebounds.cli._options import ProblemOptions, SizeOptions, TableOptions
from sparsebounds.cli._output import finish, print_json, say, sentences, spinner
from sparsebounds.cli._outputs import check_outputs
from sparsebounds.cli._run import save_proof
from sparsebounds.cli._show import bounds_record, bounds_table, status_text
from sparsebounds.relaxation import relaxation_of
from sparsebounds.solving import bounds_sentence
from sparsebounds.solving import certify as prove
from sparsebounds.tables import is_archive


@grouped
def certify(
    model: Annotated[
        Path,
        typer.Argument(
            help="A file of solve --out, a CSV with columns feature and coef (the intercept in a "
            "row named (intercept)), or a .npy vector (the intercept last)."
        ),
    ],
    data: options.Data,
    table: TableOptions,
    size: SizeOptions,
    problem: ProblemOptions,
    tol: options.Tolerance = 1e-4,
    require_optimal: options.RequireOptimal = False,
    time_limit: options.TimeLimit = None,
    certificate: options.CertificateFile = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Prove how far a model, from any tool, is from the best possible.

    What is not given is as in the file, where solve --out wrote it, else as in solve.

    Exit code 0: valid bounds, whatever the gap. 2: bad input, or a model that breaks a constraint.
    3: --require-optimal was given, and the gap is wider than --tol.

    Example: sparsebounds certify lasso.csv patients.csv --target survival -k 5 --ridge 0.1
    """
    with sentences():
        inputs = {"MODEL": model, "DATA": data}
        check_outputs([("--certificate", certificate)], inputs, force=force)
        loaded = load_model(model, table.positive)
        problem.check()
        size.check()
        # The names of arrays are their own.
        reading = table.read(data, None if is_archive(data) else loaded.choice, likeness=None)
        parameters = problem.parameters(reading, size, loaded.parameters)
        program = parameters.program(reading.train)
        coef, b = loaded.placed(program)
        with spinner("Proving") as callback:
            # Stopped early it still proves a bound, and the gap below says how good.
            # As tight as solve makes it, so that its own models get their own bounds back.
            deadline = Deadline.of(time_limit)
            accuracy = min(1e-6, 0.01 * tol)
            relaxed = relaxation_of(program, accuracy, time_limit=deadline, callback=callback)
            proof = prove(program, coef, b, relaxation=relaxed, time_limit=deadline)
    relative = program.relative(proof.gap, proof.upper)
    status = "optimal" if relative <= tol else "bounded"
    if as_json:
        record = bounds_record(program, proof.lower, proof.upper, relative)
        print_json({"status": status, "nonzeros": int(np.count_nonzero(coef)), **record})
    else:
        summary = bounds_table(program, proof.lower, proof.upper)
        summary.add_row("status", status_text(status, relative, tol))
        say(f"{program.describe()}\n", style="bold")
        say(summary)
        say(f"\n{bounds_sentence(program, proof.lower, proof.upper)}")
    with sentences():
        if certificate is not None:
            save_proof(certificate, proof, reading)
    finish([status], require_optimal=require_optimal)
