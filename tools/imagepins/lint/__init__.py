"""Rendered Dockerfiles → findings, each at the template's line that gives what is wrong."""
