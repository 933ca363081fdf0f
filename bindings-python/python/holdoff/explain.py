"""Explanations of policies, and warnings about them: the results of `Policy.explain` and `Policy.lints`."""

from ._holdoff import Explanation, Lint, Row, lint_nested

__all__ = ["Explanation", "Lint", "Row", "lint_nested"]
