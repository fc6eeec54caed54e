"""Text of pins.yaml → frozen values with the place of each, and edits of single values back into the text."""
