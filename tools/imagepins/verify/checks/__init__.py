"""Target, pins and what an image showed → checks; one module for each kind of question."""
