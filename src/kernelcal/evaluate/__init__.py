"""The main job: everything about one model."""

from kernelcal.evaluate.base import Evaluation
from kernelcal.evaluate.classes import ClassEvaluation
from kernelcal.evaluate.main import evaluate
from kernelcal.evaluate.numbers import NumberEvaluation
from kernelcal.evaluate.planning import Plan, Step, plan
from kernelcal.evaluate.scores import ScoreEvaluation

__all__ = ["ClassEvaluation", "Evaluation", "NumberEvaluation", "Plan", "ScoreEvaluation", "Step", "evaluate", "plan"]
