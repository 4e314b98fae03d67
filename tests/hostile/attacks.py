"""All attacks."""

from __future__ import annotations

from tests.hostile.attack import Attack
from tests.hostile.certificates import Bombs, Certificates
from tests.hostile.programs import Programs

ATTACKS: tuple[Attack, ...] = (Programs(), Certificates(), Bombs())
