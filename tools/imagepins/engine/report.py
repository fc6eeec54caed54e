"""Status → the lines a person reads."""

from imagepins.engine.status import Engine, Status


def describe(status: Status) -> str:
    """Return a few aligned lines; the problem is not among them, it goes to standard error."""
    rows = [("endpoint", f"{status.endpoint.host} ({status.endpoint.chosen_by})")]
    rows += _engine_rows(status.engine) if status.engine else [("engine", "none that can be asked")]
    for name, program in (("client", status.client), ("buildx", status.buildx)):
        rows.append((name, f"{program.version or 'version unknown'} ({program.path})" if program else "none"))
    base = status.base
    rows.append(("base", f"{base.ref} from {base.origin}, {base.digest or base.id}" if base else "none"))
    if status.missing:
        rows.append(("missing", ", ".join(status.missing)))
    return "\n".join(f"{name:<9} {value}" for name, value in rows)


def _engine_rows(engine: Engine) -> list[tuple[str, str]]:
    free = "unknown" if engine.free_bytes is None else f"{engine.free_bytes / 1e9:.1f} GB"
    store = f"{engine.storage_driver} ({'containerd image store' if engine.containerd_store else 'graph driver'})"
    return [
        ("engine", f"{engine.version}, API {engine.min_api_version} to {engine.api_version}, {engine.platform}"),
        ("storage", f"{store}, {free} free at {engine.data_root}"),
    ]
