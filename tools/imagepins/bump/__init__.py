"""Pin + ref → proposal: new text of pins.yaml, re-rendered Dockerfiles, and a report on what moves."""
