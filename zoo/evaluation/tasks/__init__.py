"""Scores of a task: classes, several labels, numbers, tokens, entities, written texts."""
