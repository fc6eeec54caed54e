"""Pins and a finished image → what is proven, what is not, and why."""
