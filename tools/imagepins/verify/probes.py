"""Probes: what an image showed → claims about one component. Each is one small function; ``components`` has the table.

Sources of the facts: CLR's CMakeLists (HIP version numbers and hash), RCCL's git_version.cmake and version.mk, the
rocm-systems RCCL CI (version and git reference are separate literals), setuptools_scm (local versions).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from imagepins.verify.findings import Aspect, Claim, Rank

if TYPE_CHECKING:
    from imagepins.verify.components import Component
    from imagepins.verify.observed import Distribution, Library, Load, Mapped, Observed

HIP_FILE = r"libamdhip64\.so\.(\d+\.\d+\.\d+)(?:-([0-9a-f]{7,40}))?$"
ROCR_FILE = r"libhsa-runtime64\.so\.(\d+\.\d+\.\d+)$"
SCM_COMMIT = r"(?:^|[.+])(?:g|git)([0-9a-f]{7,40})(?=$|[.+_-])"
SCM_DIRTY = r"\.d\d{8}(\b|$)"
NO_VERSION = r"^(0\.0\.0.*|0\+unknown.*|unknown|0\.1\.dev.*|)$"


def hip(observed: Observed, component: Component) -> Iterator[Claim]:
    """HIP: what the mapped runtime answers, the hash in it, and the numbers in the names of its file."""
    for load, mapped in _mapped(observed, component):
        number = mapped.calls.get("hipRuntimeGetVersion")
        if number:
            version = hip_version(number["code"], number["value"])
            yield _called(observed, load, mapped, "hipRuntimeGetVersion", version)
        commit = mapped.calls.get("amd_dbgapi_get_git_hash")
        if commit:
            yield _hash(
                _rank_of(observed, load),
                mapped.path,
                f"amd_dbgapi_get_git_hash, {_by(load)}",
                str(commit["value"] or ""),
            )
    for library in _libraries(observed, component):
        yield from _file_names(library, HIP_FILE)
        hashes = library.literals.get("hash", [])
        # Older runtimes have no function for it; one literal alone that looks like a commit can be nothing else.
        if len(hashes) == 1 and not _answers(observed, library, "amd_dbgapi_get_git_hash"):
            yield _hash(_rank(observed, library), library.path, "hash literal", hashes[0])


def rocr(observed: Observed, component: Component) -> Iterator[Claim]:
    """ROCr: the version in its file's name; its build leaves no other trace."""
    for library in _libraries(observed, component):
        yield from _file_names(library, ROCR_FILE)


def rccl(observed: Observed, component: Component) -> Iterator[Claim]:
    """RCCL: ncclGetVersion of the mapped library, and its version and git reference, which are separate literals."""
    called = set()
    for load, mapped in _mapped(observed, component):
        number = mapped.calls.get("ncclGetVersion")
        if number:
            version = nccl_version(number["code"], number["value"])
            called.add(version)
            yield _called(observed, load, mapped, "ncclGetVersion", version)
    for library in _libraries(observed, component):
        rank = _rank(observed, library)
        versions = library.literals.get("banner") or library.literals.get("version") or []
        if versions:
            # Versions of other things look the same; what the library answers is its own among them.
            value = next((each for each in versions if each in called), versions[0])
            yield Claim(aspect=Aspect.VERSION, value=value, rank=rank, file=library.path, how="version literal")
        for ref in library.literals.get("ref", [])[:1]:
            yield _git_reference(ref, rank, library)


def rocm_sdk(observed: Observed, component: Component) -> Iterator[Claim]:
    """The base SDK: its wheels, and the commit of TheRock in its manifest. Says nothing of a swapped runtime."""
    yield from python_package(observed, component)
    for path, text in observed.texts.items():
        if path.endswith("therock_manifest.json"):
            commit = _json_key(text, "the_rock_commit")
            yield Claim(aspect=Aspect.COMMIT, value=commit, rank=Rank.FILE, file=path, how="the_rock_commit")


def torch(observed: Observed, component: Component) -> Iterator[Claim]:
    """PyTorch: version and commit in the package's own version.py; nothing has to be imported for it."""
    yield from python_package(observed, component)
    for path, text in _used_texts(observed, "/torch/version.py"):
        fields = dict(re.findall(r"(?m)^(\w+)(?::[^=\n]+)? = ['\"]([^'\"\n]*)['\"]", text))
        if "__version__" in fields:
            yield _plain(Aspect.VERSION, fields["__version__"], Rank.FILE, path, "torch/version.py")
        if re.fullmatch(r"[0-9a-f]{40}", fields.get("git_version", "")):
            yield _plain(Aspect.COMMIT, fields["git_version"], Rank.FILE, path, "git_version in torch/version.py")


def amdsmi(observed: Observed, component: Component) -> Iterator[Claim]:
    """amd-smi: package metadata, and the version with its build's commit that the library holds."""
    yield from python_package(observed, component)
    for library in _libraries(observed, component):
        for text in library.literals.get("build", [])[:1]:
            version, _, commit = text.partition("+")
            rank = _rank(observed, library)
            yield _plain(Aspect.VERSION, version, rank, library.path, "version literal")
            yield _hash(rank, library.path, "version literal", commit)


def python_package(observed: Observed, component: Component) -> Iterator[Claim]:
    """A Python package: the version of its metadata, the commit in a local version, and what an import says."""
    for each in used_distributions(observed, component.distributions):
        yield from scm_claims(each.version, Rank.PACKAGE, each.path, "package metadata")
    for load in observed.loads:
        for name, module in load.modules.items():
            if name in component.modules and module.get("version"):
                yield from scm_claims(module["version"], Rank.MAPPED, module["file"], f"__version__, {_by(load)}")
    for end in component.texts:
        for path, text in _used_texts(observed, end) if end.endswith("_version.py") else ():
            match = re.search(r"(?m)^(?:__version__ = )?(?:version = )?['\"]([^'\"]+)['\"]", text)
            if match:
                yield from scm_claims(match.group(1), Rank.FILE, path, "_version.py")


def scm_claims(version: str, rank: Rank, file: str, how: str) -> Iterator[Claim]:
    """A version, and the commit that setuptools_scm or a build put into its local part (+gSHORT, +gitSHORT)."""
    if re.match(NO_VERSION, version):
        note = f"the fallback version {version!r}: the build saw no git history"
        yield Claim(aspect=Aspect.VERSION, value="", rank=rank, file=file, how=how, note=note, denies=True)
    else:
        yield _plain(Aspect.VERSION, version, rank, file, how)
    commit = re.search(SCM_COMMIT, version)
    if commit:
        dirty = bool(re.search(SCM_DIRTY, version))
        yield Claim(
            aspect=Aspect.COMMIT, value=commit.group(1), rank=rank, file=file, how=f"{how} {version}", is_dirty=dirty
        )


def used_distributions(observed: Observed, names: tuple[str, ...]) -> list[Distribution]:
    """The distributions of these names that an import would take: of the first folder of the search path."""
    wanted = {re.sub(r"[-_.]+", "-", name).lower() for name in names}
    found = [each for each in observed.distributions if re.sub(r"[-_.]+", "-", each.name).lower() in wanted]
    for folder in observed.search_path:
        here = [each for each in found if each.path.rpartition("/")[0] == folder.rstrip("/")]
        if here:
            return here
    return found


def hip_version(code: int, number: int) -> str:
    """major*10,000,000 + minor*100,000 + patch; empty where the call failed."""
    if code != 0 or number <= 0:
        return ""
    return f"{number // 10**7}.{number // 10**5 % 100}.{number % 10**5}"


def nccl_version(code: int, number: int) -> str:
    """major*10,000 + minor*100 + patch (2.8 and older: major*1,000); empty where the call failed."""
    if code != 0 or number <= 0:
        return ""
    scale = 10**4 if number >= 10**4 else 10**3
    return f"{number // scale}.{number % scale // 100}.{number % 100}"


def _mapped(observed: Observed, component: Component) -> Iterator[tuple[Load, Mapped]]:
    for family in component.libraries:
        yield from observed.mapped(family)


def _libraries(observed: Observed, component: Component) -> Iterator[Library]:
    return (each for each in observed.libraries if each.family in component.libraries and not each.error)


def _answers(observed: Observed, library: Library, function: str) -> bool:
    found = (mapped for _, mapped in observed.mapped(library.family) if observed.library_of(mapped) is library)
    return any(function in mapped.calls for mapped in found)


def _rank(observed: Observed, library: Library) -> Rank:
    uses = (mapped for load, mapped in observed.mapped(library.family) if observed.is_use(load))
    return Rank.MAPPED if any(observed.library_of(mapped) is library for mapped in uses) else Rank.FILE


def _rank_of(observed: Observed, load: Load) -> Rank:
    """What a load proves: one that only this tool made shows a file that could be loaded, and no more."""
    return Rank.MAPPED if observed.is_use(load) else Rank.FILE


def _file_names(library: Library, pattern: str) -> Iterator[Claim]:
    for name in library.names:
        match = re.search(pattern, name)
        if match is None:
            continue
        yield _plain(Aspect.VERSION, match.group(1), Rank.FILE, name, "file name")
        if match.lastindex == 2:
            yield _hash(Rank.FILE, name, "file name", match.group(2))


def _git_reference(ref: str, rank: Rank, library: Library) -> Claim:
    commit = ref.rpartition(":")[2]
    if commit.strip() == "Unknown":
        note = "the build saw no git history (reference 'Unknown')"
        how = "git reference literal"
        return Claim(aspect=Aspect.COMMIT, value="", rank=rank, file=library.path, how=how, note=note, denies=True)
    return Claim(
        aspect=Aspect.COMMIT,
        value=commit.rstrip("+").lower(),
        rank=rank,
        file=library.path,
        how=f"git reference literal {ref}",
        is_dirty=commit.endswith("+"),
    )


def _hash(rank: Rank, file: str, how: str, value: str) -> Claim:
    note = ""
    if value and not value.strip("0"):
        note = "the hash is all zeros: a stock build, not one from source"
    elif not value:
        note = "the build stamped no hash"
    known = "" if note else value
    return Claim(aspect=Aspect.COMMIT, value=known, rank=rank, file=file, how=how, note=note, denies=bool(note))


def _called(observed: Observed, load: Load, mapped: Mapped, function: str, value: str) -> Claim:
    return Claim(
        aspect=Aspect.VERSION,
        value=value,
        rank=_rank_of(observed, load),
        file=mapped.path,
        how=f"{function}, {_by(load)}",
        note="" if value else f"{function} failed",
    )


def _plain(aspect: Aspect, value: str, rank: Rank, file: str, how: str) -> Claim:
    return Claim(aspect=aspect, value=value, rank=rank, file=file, how=how)


def _by(load: Load) -> str:
    return f"by '{load.what}'"


def _used_texts(observed: Observed, end: str) -> list[tuple[str, str]]:
    """Texts with that end of path, those of the first folder of the search path that has one where it is known."""
    found = [(path, text) for path, text in observed.texts.items() if path.endswith(end)]
    for folder in observed.search_path:
        here = [(path, text) for path, text in found if path == folder.rstrip("/") + end]
        if here:
            return here
    return found


def _json_key(text: str, key: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return ""
    return str(value.get(key, "")) if isinstance(value, dict) else ""
