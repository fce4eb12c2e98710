"""Discernibility: what a human can see in an image, asked of some and learnt for the rest."""
