"""Answers of a language model: errors among the surest."""

import json
from pathlib import Path

import kernelcal as kc

answers = [json.loads(line) for line in Path("examples/answers.jsonl").read_text().splitlines()]
given = [one for one in answers if one["answer"] is not None]
right, confidence = [one["correct"] for one in given], [one["confidence"] for one in given]

ax = kc.measures.risk_coverage(right, confidence, abstained=len(answers) - len(given)).plot()
