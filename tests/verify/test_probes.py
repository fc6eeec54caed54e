"""Claims that probes make of what an image showed, without an image."""

from typing import Any

import pytest

from imagepins.pins.load import loads
from imagepins.pins.model import Pin
from imagepins.verify.claims import gather, repository
from imagepins.verify.components import COMPONENTS
from imagepins.verify.findings import Aspect, Claim, Rank
from imagepins.verify.observed import Observed, read
from imagepins.verify.probes import hip_version, nccl_version

SITE = "/opt/venv/lib/python3.12/site-packages"


def observed(**parts: Any) -> Observed:
    """A document with these parts."""
    return read({"format": "imagepins-observed", "version": 1, "image": {"labels": parts.pop("labels", {})}, **parts})


def distribution(name: str, version: str, site: str = SITE) -> dict[str, Any]:
    """A distribution as the collector tells it."""
    return {"path": f"{site}/{name}-{version}.dist-info", "name": name, "version": version}


def claims(component: str, seen: Observed) -> list[tuple[Aspect, str, Rank]]:
    """Aspect, value and rank of what the component's probe claims."""
    row = COMPONENTS[component]
    return [(claim.aspect, claim.value, claim.rank) for claim in row.probe(seen, row)]


@pytest.mark.parametrize(
    ("code", "number", "version"),
    [
        (0, 50731921, "5.7.31921"),
        (0, 60443484, "6.4.43484"),
        (0, 71626361, "7.16.26361"),
        (100, 71626361, ""),
        (0, 0, ""),
        (0, -1, ""),
    ],
)
def test_hip_number_is_read_as_hip_writes_it(code: int, number: int, version: str) -> None:
    assert hip_version(code, number) == version


@pytest.mark.parametrize(
    ("code", "number", "version"),
    [(0, 21304, "2.13.4"), (0, 22105, "2.21.5"), (0, 23203, "2.32.3"), (0, 2708, "2.7.8"), (1, 21304, ""), (0, -1, "")],
)
def test_nccl_number_is_read_as_nccl_writes_it(code: int, number: int, version: str) -> None:
    assert nccl_version(code, number) == version


def test_hip_hash_is_read_from_the_library_where_no_function_tells_it() -> None:
    path = "/opt/rocm/lib/libamdhip64.so.6.3.24432"
    library = {"family": "libamdhip64.so", "path": path, "names": [path], "literals": {"hash": ["f9f995c6d"]}}
    calls = {"hipRuntimeGetVersion": {"code": 0, "value": 60324432}}
    load = {"what": "libamdhip64.so.6", "mapped": [{"path": path, "family": "libamdhip64.so", "calls": calls}]}

    assert claims("hip", observed(libraries=[library], loads=[load])) == [
        (Aspect.VERSION, "6.3.24432", Rank.MAPPED),
        (Aspect.VERSION, "6.3.24432", Rank.FILE),
        (Aspect.COMMIT, "f9f995c6d", Rank.MAPPED),
    ]


def test_torch_is_read_from_its_files_without_an_import() -> None:
    text = (
        "__version__ = '2.12.0+rocm10.0.0'\ndebug = False\nhip: Optional[str] = '7.15.26333'\n"
        f"git_version = '{'a' * 40}'\n"
    )
    seen = observed(
        distributions=[distribution("torch", "2.12.0+rocm10.0.0")], texts={f"{SITE}/torch/version.py": text}
    )

    assert claims("torch", seen) == [
        (Aspect.VERSION, "2.12.0+rocm10.0.0", Rank.PACKAGE),
        (Aspect.VERSION, "2.12.0+rocm10.0.0", Rank.FILE),
        (Aspect.COMMIT, "a" * 40, Rank.FILE),
    ]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.8.0+git669b31ac", [("version", "3.8.0+git669b31ac"), ("commit", "669b31ac")]),
        ("3.8.0+git669b31ac.rocm10.0.0", [("version", "3.8.0+git669b31ac.rocm10.0.0"), ("commit", "669b31ac")]),
        ("0.1.25.dev3+gabcdef012", [("version", "0.1.25.dev3+gabcdef012"), ("commit", "abcdef012")]),
        ("0.1.24.post1", [("version", "0.1.24.post1")]),
        ("0.0.0", [("version", "")]),
        ("0+unknown", [("version", "")]),
    ],
)
def test_commit_is_read_from_a_local_version(version: str, expected: list[tuple[str, str]]) -> None:
    seen = observed(distributions=[distribution("triton", version)])

    assert [(str(aspect), value) for aspect, value, _ in claims("triton", seen)] == expected


def test_version_of_a_dirty_tree_says_so() -> None:
    row = COMPONENTS["aiter"]
    seen = observed(distributions=[distribution("amd_aiter", "0.1.25.dev3+gabcdef0.d20261130")])

    assert [(claim.value, claim.is_dirty) for claim in row.probe(seen, row) if claim.aspect is Aspect.COMMIT] == [
        ("abcdef0", True)
    ]


def test_distribution_that_an_import_takes_is_the_first_of_the_search_path() -> None:
    seen = observed(
        distributions=[distribution("vllm", "1.0", "/usr/lib/python3/dist-packages"), distribution("vllm", "2.0")],
        loads=[{"what": "modules", "path": ["", SITE, "/usr/lib/python3/dist-packages"], "modules": {}}],
    )

    assert claims("vllm", seen) == [(Aspect.VERSION, "2.0", Rank.PACKAGE)]


def test_imported_module_outranks_metadata() -> None:
    load = {"what": "import sglang", "modules": {"sglang": {"file": "/src/sglang/__init__.py", "version": "0.5.20"}}}
    seen = observed(distributions=[distribution("sglang", "0.5.19")], loads=[load])

    assert claims("sglang", seen) == [(Aspect.VERSION, "0.5.19", Rank.PACKAGE), (Aspect.VERSION, "0.5.20", Rank.MAPPED)]


def test_sdk_is_told_by_its_wheel_and_its_manifest() -> None:
    manifest = f'{{"the_rock_commit": "{"1" * 40}", "rocm_version": "10.0.0"}}'
    seen = observed(
        distributions=[distribution("rocm_sdk_core", "10.0.0")],
        texts={f"{SITE}/_rocm_sdk_core/share/therock/therock_manifest.json": manifest},
    )

    assert claims("rocm-sdk", seen) == [(Aspect.VERSION, "10.0.0", Rank.PACKAGE), (Aspect.COMMIT, "1" * 40, Rank.FILE)]


def test_amdsmi_tells_version_and_commit_of_its_library() -> None:
    library = {
        "family": "libamd_smi.so",
        "path": "/opt/rocm/lib/libamd_smi.so.27",
        "literals": {"build": ["27.0.0+6b0e43f3"]},
    }

    assert claims("amdsmi", observed(libraries=[library])) == [
        (Aspect.VERSION, "27.0.0", Rank.FILE),
        (Aspect.COMMIT, "6b0e43f3", Rank.FILE),
    ]


def test_rocr_is_told_by_the_name_of_its_file() -> None:
    path = "/opt/rocm/lib/libhsa-runtime64.so.1.21.0"
    library = {"family": "libhsa-runtime64.so", "path": path, "names": [path]}

    assert claims("rocr", observed(libraries=[library])) == [(Aspect.VERSION, "1.21.0", Rank.FILE)]


PINS = """\
schema: 1
pins:
  rccl:
    git: https://upstream.example/rocm-systems.git
    commit: "1c0ab425abda9d1fd80fa977c253556b14eb140b"
    track: {branch: develop}
    version: "2.32.3"
    version_from: version.mk
    arg: RCCL_COMMIT
    component: rccl
images: {a: {template: t, pins: [rccl], variants: {b: {}}}}
"""


@pytest.fixture
def rccl() -> Pin:
    """A git pin with a component."""
    return loads(PINS).pins["rccl"]


def stated(pin: Pin, seen: Observed) -> list[tuple[str, str]]:
    """Aspect and value of claims that only state."""
    return [(str(claim.aspect), claim.value) for claim in gather(pin, seen) if claim.rank is Rank.STATED]


@pytest.mark.parametrize(
    "parts",
    [
        {"labels": {"com.example.rccl.commit": "7da4302"}},
        {"env": {"RCCL_COMMIT": "7da4302"}},
        {"texts": {"/app/versions.txt": "# built by CI\nAITER_BRANCH: v0.1\nRCCL_COMMIT: 7da4302\n"}},
        {"texts": {"/app/versions.json": '{"RCCL_COMMIT": "7da4302"}'}},
        {"texts": {"/etc/build.env": 'export RCCL_COMMIT="7da4302"\n'}},
    ],
    ids=["label", "ENV", "text", "json", "shell"],
)
def test_statement_is_found_wherever_it_stands(parts: dict[str, Any], rccl: Pin) -> None:
    assert stated(rccl, observed(**parts)) == [("commit", "7da4302")]


@pytest.mark.parametrize(
    "env",
    [{"RCCL_DDA_FABRIC_MAXBLOCKS": "64"}, {"NCCL_MIN_NCHANNELS": "112"}, {"RCCL_DDA_ENABLE": "1"}, {"PATH": "/a"}],
)
def test_setting_is_no_statement(env: dict[str, str], rccl: Pin) -> None:
    assert stated(rccl, observed(env=env)) == []


def recorded(present: str, mapped: str) -> list[Claim]:
    """Claims where the build recorded /a and a process maps ``mapped``."""
    record = {
        "path": "/r/rccl.txt",
        "name": "rccl",
        "fields": {"commit": "1c0ab425abda9d1fd80fa977c253556b14eb140b", "dirty": "no"},
        "files": {"/a": {"recorded": "0" * 64, "present": present}},
    }
    load = {"what": "librccl.so.1", "mapped": [{"path": mapped, "family": "librccl.so"}]}
    pin = loads(PINS).pins["rccl"]
    return [claim for claim in gather(pin, observed(records=[record], loads=[load])) if "record" in claim.how]


def test_build_record_proves_the_very_file_that_is_mapped() -> None:
    assert [claim.is_proof for claim in recorded("0" * 64, "/a")] == [True]


def test_build_record_proves_nothing_of_another_file() -> None:
    assert [claim.is_proof for claim in recorded("0" * 64, "/b")] == [False]


def test_build_record_of_a_changed_file_claims_nothing() -> None:
    assert recorded("1" * 64, "/a") == []


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/ROCm/rocm-systems.git",
        "https://github.com/rocm/rocm-systems",
        "https://token@github.com/ROCm/rocm-systems/",
        "git@github.com:ROCm/rocm-systems.git",
        "ssh://git@github.com/ROCm/rocm-systems.git",
    ],
)
def test_spellings_of_one_repository_are_the_same(url: str) -> None:
    assert repository(url) == "github.com/rocm/rocm-systems"


def test_version_of_something_else_in_rccl_does_not_speak_for_it() -> None:
    library = {"path": "/opt/librccl.so.1", "family": "librccl.so", "device": 1, "inode": 2}
    called = {"ncclGetVersion": {"code": 0, "value": 23203}}
    load = {"what": "librccl.so.1", "mapped": [{**library, "calls": called}]}

    for literals in (["10.1.0", "2.32.3"], ["2.32.3", "10.1.0"]):
        seen = observed(libraries=[{**library, "literals": {"version": literals}}], loads=[load])
        assert claims("rccl", seen) == [(Aspect.VERSION, "2.32.3", Rank.MAPPED)] * 2
    lying = observed(libraries=[{**library, "literals": {"version": ["2.27.7", "10.1.0"]}}], loads=[load])
    assert (Aspect.VERSION, "2.27.7", Rank.MAPPED) in claims("rccl", lying)


@pytest.mark.parametrize(
    ("statuses", "how"),
    [
        ([{"path": "/src", "dirty": []}], "HEAD of the checkout"),
        ([{"path": "/src", "dirty": None}], "HEAD of the checkout, changed files unknown"),
        ([], "HEAD of the checkout, changed files unknown"),
    ],
)
def test_checkout_that_nobody_could_compare_says_so(statuses: list[dict[str, Any]], how: str, rccl: Pin) -> None:
    checkout = {"path": "/src", "head": "1" * 40, "remotes": ["https://upstream.example/rocm-systems"]}

    found = gather(rccl, observed(checkouts=[checkout], statuses=statuses))

    assert [(claim.value, claim.how) for claim in found] == [("1" * 40, how)]
