"""All attacks."""

from __future__ import annotations

from tests.hostile.attack import Attack
from tests.hostile.bombs import Bombs
from tests.hostile.certificates import Certificates
from tests.hostile.checker import Checker
from tests.hostile.checkpoints import Checkpoints
from tests.hostile.clocks import Clocks
from tests.hostile.groups import GroupCertificates, Groups
from tests.hostile.names import Names
from tests.hostile.nonconvex import NonConvex
from tests.hostile.outputs import Outputs
from tests.hostile.programs import Programs
from tests.hostile.tables import TableBombs, Tables

ATTACKS: tuple[Attack, ...] = (
    Programs(),
    NonConvex(),
    Certificates(),
    Checker(),
    Bombs(),
    Checkpoints(),
    Tables(),
    TableBombs(),
    Names(),
    Outputs(),
    Clocks(),
    Groups(),
    GroupCertificates(),
)
