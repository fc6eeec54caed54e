"""``python -m imagepins.engine`` → the engine command."""

from imagepins.engine.cli import main

raise SystemExit(main())
