"""Explanations of policies, and warnings about them: the results of `Policy.explain` and `Policy.lints`."""

from ._holdoff import Explanation as Explanation, Lint as Lint, Row as Row, lint_nested as lint_nested
