"""A request → one JSON document between markers on standard output.

argv: mode, marker or descriptor, request as JSON. Modes: ``collect`` (the collector itself), ``code``, ``ask`` and
``modules`` (its children that must be a plain interpreter of the image, with the image's own site and PYTHONPATH).
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time

from imagepins.verify.collector.checkouts import describe_checkout, start_status
from imagepins.verify.collector.children import Child, call, describe, execute, gather, result
from imagepins.verify.collector.libraries import describe_libraries, describe_objects
from imagepins.verify.collector.loads import ask_module, load_code, load_library
from imagepins.verify.collector.modules import find_modules
from imagepins.verify.collector.packages import distributions, dpkg_packages, programs, shadowing
from imagepins.verify.collector.paths import read_text, shown
from imagepins.verify.collector.records import read_records
from imagepins.verify.collector.walk import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STATEMENTS = 200
MEMORY = "/dev/shm"  # noqa: S108 - every engine mounts it, whatever the root is


def collect(request: dict[str, Any], document: dict[str, Any]) -> None:
    """Fill ``document`` step by step, so that a time limit loses only what was not reached."""
    families = request["families"]
    plain = start_loads(request, request["loads"])
    if request["modules"]:
        plain.append(start_plain(request, "modules", {"what": "modules"}, request["modules"]))
    packages = start_packages(request)
    stems = [stem for family in families.values() for stem in family["stems"]]
    found = walk(request["root"], stems, request["texts"], want_objects=request["want_archs"])
    document.update(entries=found.entries, unreadable=found.unreadable)
    document["left_out"] = found.left_out
    document["libraries"] = describe_libraries(found.libraries, families, want_archs=request["want_archs"])
    document["objects"] = describe_objects(found.objects)
    document["distributions"] = distributions(found.distributions, request["distributions"])
    document["programs"] = programs(request["programs"])
    texts = [*found.texts, *found.statements[:STATEMENTS]]
    document["texts"] = {shown(path): read_text(path) for path in texts}
    asked = start_questions(request, found.texts)
    document["records"] = read_records(request["records"])
    statuses: list[Child] = []
    if request["want_checkouts"]:
        document["checkouts"] = [describe_checkout(path) for path in found.checkouts]
        started = [start_status(path, request["load_seconds"]) for path in found.checkouts[:20]]
        statuses = [child for child in started if child]
    gather(plain + statuses + asked + packages)
    document["statuses"] = [result_of_status(child) for child in statuses]
    document["answers"] = [result(child) for child in asked]
    document["loads"] = [result(child) for child in plain]
    finish_packages(packages, document)
    finish_loads(request, document)
    unnamed = mapped_elsewhere(document)
    if unnamed:
        paths = found.libraries + unnamed
        document["libraries"] = describe_libraries(paths, families, want_archs=request["want_archs"])


def finish_packages(packages: list[Child], document: dict[str, Any]) -> None:
    """Add the Debian packages, and to those of Python what stands before them where an import looks."""
    for answer in map(result, packages):
        document["packages"] = answer.get("found", [])
        document["errors"] += [f"packages: {answer['error']}"] if "error" in answer else []
    search_path: list[str] = []
    for load in document["loads"]:
        search_path += load.get("path", ()) if load["what"] == "modules" else ()
    for each in document["distributions"]:
        each["shadowed"] = shadowing(each, search_path)


def mapped_elsewhere(document: dict[str, Any]) -> list[str]:
    """Files of a family that a process maps and that no name gave away: their soname alone tells what they are."""
    known = {(each["device"], each["inode"]) for each in document["libraries"]} | {(0, 0)}
    mapped = [each for load in document["loads"] for each in load.get("mapped", ())]
    return sorted({each["path"] for each in mapped if (each["device"], each["inode"]) not in known})


def finish_loads(request: dict[str, Any], document: dict[str, Any]) -> None:
    """Load by soname each family that no load has mapped, so that every family has been asked for."""
    mapped = {each["family"] for load in document["loads"] for each in load.get("mapped", ())}
    asked = set(request["loads"])
    sonames = {
        each["soname"]: None
        for each in document["libraries"]
        if each["family"] not in mapped and each.get("soname") and "/" not in each["soname"]
        # Asked again, what hangs would only hang again.
        if each["soname"] not in asked
    }
    late = start_loads(request, list(sonames)[:16], is_implied=True)
    gather(late)
    document["loads"] += [result(child) for child in late]


def start_packages(request: dict[str, Any]) -> list[Child]:
    """Start what reads and compares Debian packages, beside the walk: checksums take as long as that does."""
    if not request["packages"]:
        return []
    return [call({}, lambda: {"found": dpkg_packages(request["packages"])}, request["load_seconds"])]


def start_loads(request: dict[str, Any], loads: list[str], *, is_implied: bool = False) -> list[Child]:
    """Start one child for each thing to load; an import needs a plain interpreter, a library does not."""
    children = []
    if loads:
        # Once here instead of once in each fork.
        import ctypes  # noqa: F401
    for load in loads:
        label = {"what": load, "is_implied": is_implied}
        if re.match(r"(import|from) ", load):
            children.append(start_plain(request, "code", label, load))
            continue

        def work(name: str = load) -> dict[str, Any]:
            return load_library(name, request["families"], want_devices=request["want_devices"])

        children.append(call(label, work, request["load_seconds"]))
    return children


def start_questions(request: dict[str, Any], texts: list[str]) -> list[Child]:
    """Ask the modules that the image has; importing one that it lacks would only cost time."""
    present = [question for question in request["questions"] if any(path.endswith(question["file"]) for path in texts)]
    return [start_plain(request, "ask", {"name": question["name"]}, question) for question in present]


def start_plain(request: dict[str, Any], mode: str, label: dict[str, Any], subject: Any) -> Child:
    """Start this very source in the image's interpreter as the served program gets it."""
    with open("/proc/self/cmdline", "rb") as file:
        own = file.read().split(b"\0")
    source = os.fsdecode(own[own.index(b"-c") + 1])
    part = {key: request[key] for key in ("families", "want_devices")}
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    if os.access(MEMORY, os.W_OK):
        # A read-only root has no other place for the temporary files that some imports make.
        env.setdefault("TMPDIR", MEMORY)
    argv = [request["python"], "-c", source, mode, "{fd}", json.dumps(dict(part, subject=subject))]
    return execute(label, argv, request["load_seconds"], env)


def result_of_status(child: Child) -> dict[str, Any]:
    """What git printed, as it is no JSON; ``dirty`` is None where git failed."""
    text, ended = child.answer.decode("utf-8", "backslashreplace"), result(child)
    failed = child.is_late or not ended.get("error", "").endswith("(exit code 0)")
    return {"path": child.label["path"], "dirty": None if failed else [line[3:] for line in text.splitlines()][:50]}


def peak_memory() -> int:
    """Most memory that this process, or the largest of its children, has held, in KiB."""
    import resource

    # Of itself a process is told what its parent held as well, from the moment between fork and exec.
    own = re.search(r"(?m)^VmHWM:\s*(\d+) kB$", read_text("/proc/self/status"))
    return max(int(own[1]) if own else 0, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def answer_as_child(mode: str, descriptor: int, request: dict[str, Any]) -> None:
    """Do a child's work and write its answer."""
    try:
        if mode == "modules":
            answer = find_modules(request["subject"])
        elif mode == "ask":
            answer = ask_module(request["subject"], request["families"])
        else:
            answer = load_code(request["subject"], request["families"], want_devices=request["want_devices"])
    except BaseException as error:  # noqa: BLE001 - an import may raise anything, SystemExit included
        answer = {"error": describe(error)}
    data = json.dumps(answer).encode()
    while data:
        data = data[os.write(descriptor, data) :]
    os._exit(0)


class TimeLimit(BaseException):
    """The collector's time is over. What takes errors of files for granted must not take this for one of them."""


def on_alarm(*_: object) -> None:
    """End collecting; what is in the document by then is sent."""
    raise TimeLimit("the collector's time is over")


def main(argv: list[str]) -> None:
    """Run the mode that argv names."""
    mode, mark, request = argv[1], argv[2], json.loads(argv[3])
    if mode != "collect":
        answer_as_child(mode, int(mark), request)
    begin = time.monotonic()
    document: dict[str, Any] = {"format": "imagepins-observed", "version": 1, "errors": []}
    document.update(
        python=".".join(map(str, sys.version_info[:3])),
        user=os.getuid(),
        env={shown(key): shown(value) for key, value in os.environ.items()},
    )
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(request["seconds"])
    try:
        collect(request, document)
    except (Exception, TimeLimit) as error:  # noqa: BLE001 - a partial document with the reason beats none
        document["errors"].append(describe(error))
    signal.alarm(0)
    document["seconds"] = round(time.monotonic() - begin, 4)
    document["peak_kib"] = peak_memory()
    data = f"\n{mark}\n{json.dumps(document)}\n{mark}\n".encode()
    while data:
        data = data[os.write(1, data) :]
    # All is said; taking the interpreter down in order would only be waited for.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv)
