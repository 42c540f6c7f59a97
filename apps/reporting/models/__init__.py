from apps.reporting.models.cells import Basis, Cell, Tally
from apps.reporting.models.upkeep import Restatement, Upkeep

__all__ = ["Basis", "Cell", "Restatement", "Tally", "Upkeep"]
