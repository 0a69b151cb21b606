"""The main job: everything about one model."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.evaluation.base import Evaluation, plain_number
    from kernelcal.evaluation.classes import ClassEvaluation
    from kernelcal.evaluation.densities import ScoreEvaluation
    from kernelcal.evaluation.estimates import KernelError, pairs_or_blocks, seconds_one_by_one
    from kernelcal.evaluation.main import evaluate, evaluated
    from kernelcal.evaluation.numbers import NumberEvaluation, components_of_case
    from kernelcal.evaluation.planning import Plan, Step, plan
    from kernelcal.evaluation.quantiles import QuantileEvaluation
    from kernelcal.evaluation.verdicts import doubts_of, few_rows, listed, mendable

__all__ = [
    "ClassEvaluation",
    "Evaluation",
    "KernelError",
    "NumberEvaluation",
    "Plan",
    "QuantileEvaluation",
    "ScoreEvaluation",
    "Step",
    "components_of_case",
    "doubts_of",
    "evaluate",
    "evaluated",
    "few_rows",
    "listed",
    "mendable",
    "pairs_or_blocks",
    "plain_number",
    "plan",
    "seconds_one_by_one",
]
