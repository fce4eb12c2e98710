"""Asking people what they see: a local web application, what they agree on, labels from it."""
