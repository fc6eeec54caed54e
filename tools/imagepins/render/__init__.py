"""PinSet and templates → texts of Dockerfiles."""
