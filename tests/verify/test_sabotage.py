"""Every way in which an image can lie is caught with its cause, and honest oddities raise no alarm."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

import pytest

from imagepins.verify.findings import Check, Report, Status

pytestmark = pytest.mark.engine

SITE = "/usr/lib/python3/dist-packages"


class Lab(Protocol):
    """The fixture that builds images."""

    def build(self, stages: dict[str, str]) -> None:
        """Build every stage."""


@dataclass(frozen=True)
class Lie:
    """Dockerfile lines on top of the honest image, and the check that must fail with what it must say.

    ``load_timeout``, in seconds, is short where the lie is a load without an end.
    """

    name: str
    lines: str
    check: str
    says: str
    image: str = "serving"
    status: Status = Status.FAILED
    load_timeout: int = 120


def package(version: str, state: str = "install ok installed") -> str:
    """Dockerfile line that makes dpkg know a package."""
    stanza = f"\\nPackage: libhello1\\nStatus: {state}\\nArchitecture: amd64\\nVersion: {version}\\n"
    return f"RUN printf '{stanza}' >>/var/lib/dpkg/status"


RECORD = "/usr/share/imagepins/provenance/rccl.txt"


def record(*files: str, dirty: str = "no") -> str:
    """Dockerfile line by which a build leaves a record of what it installed."""
    return (
        f"RUN mkdir -p {RECORD.rpartition('/')[0]} && {{ echo 'commit: 1c0ab425abda9d1fd80fa977c253556b14eb140b'; "
        f"echo 'dirty: {dirty}'; sha256sum {' '.join(files)}; }} >{RECORD}"
    )


def wheel(name: str, version: str, *lines: str) -> str:
    """Dockerfile lines that write a distribution's metadata."""
    folder = f"{SITE}/{name.replace('-', '_')}-{version}.dist-info"
    head = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n" + "".join(f"{line}\\n" for line in lines)
    return f"RUN mkdir -p {folder} && printf '{head}' >{folder}/METADATA && echo pip >{folder}/INSTALLER"


LIES = [
    Lie(
        "stale-copy-in-a-second-tree",
        f"COPY rccl-old.so {SITE}/_rocm_sdk_core/lib/librccl.so.1",
        "rccl copies of librccl.so",
        "_rocm_sdk_core/lib",
    ),
    Lie(
        "copy-renamed-by-auditwheel",
        f"COPY rccl-old.so {SITE}/app.libs/librccl-0a1b2c3d.so.1",
        "rccl copies of librccl.so",
        "app.libs",
    ),
    Lie(
        "ldconfig-takes-the-older-name",
        "COPY rccl-old.so /opt/rocm/lib/librccl.so.1.0.70101\nRUN ldconfig",
        "rccl version",
        "2.27.7",
    ),
    Lie(
        "ld-library-path-leads-elsewhere",
        "COPY rccl-old.so /opt/stock/lib/librccl.so.1\nENV LD_LIBRARY_PATH=/opt/stock/lib",
        "rccl version",
        "LD_LIBRARY_PATH puts /opt/stock/lib first",
    ),
    Lie(
        "rpath-beats-ld-library-path",
        "COPY rccl-old.so /opt/torch/lib/librccl.so.1\nCOPY torch-rpath.so /opt/torch/lib/libtorch_hip.so\n"
        "ENV LD_LIBRARY_PATH=/opt/rocm/lib",
        "rccl version",
        "RPATH",
        image="consumer",
    ),
    Lie(
        "runpath-takes-the-bundled-one",
        "COPY rccl-old.so /opt/torch/lib/librccl.so.1\nCOPY torch-runpath.so /opt/torch/lib/libtorch_hip.so",
        "rccl version",
        "RUNPATH",
        image="consumer",
    ),
    Lie(
        "stock-content-under-the-pinned-name",
        "COPY hip-stock.so /opt/rocm/lib/libamdhip64.so.7.16.26361-25e14349f2",
        "rocm-runtime version",
        "7.15.26333",
    ),
    Lie(
        "hash-of-all-zeros",
        "COPY hip-zeros.so /opt/rocm/lib/libamdhip64.so.7.16.26361-25e14349f2",
        "rocm-runtime commit",
        "all zeros",
    ),
    Lie("hash-unknown", "COPY rccl-unknown.so /opt/rocm/lib/librccl.so.1.0", "rccl commit", "no git history"),
    Lie("dirty-build", "COPY rccl-dirty.so /opt/rocm/lib/librccl.so.1.0", "rccl commit", "changed files"),
    Lie(
        "other-commit-of-the-same-version",
        "COPY rccl-other-commit.so /opt/rocm/lib/librccl.so.1.0",
        "rccl commit",
        "7da4302",
    ),
    Lie("literal-that-lies", "COPY rccl-lying-literal.so /opt/rocm/lib/librccl.so.1.0", "rccl version", "two builds"),
    Lie(
        "wrong-architecture",
        "COPY rccl-wrong-arch.so /opt/rocm/lib/librccl.so.1.0",
        "architectures of librccl.so.1.0",
        "gfx906",
    ),
    Lie("library-removed", "RUN rm /opt/rocm/lib/librccl*", "rccl library", "removed"),
    Lie(
        "text-in-place-of-the-library", "RUN echo hello >/opt/rocm/lib/librccl.so.1.0", "rccl library", "is no library"
    ),
    Lie("link-that-dangles", "RUN rm /opt/rocm/lib/librccl.so.1.0", "rccl library", "dangling"),
    Lie(
        "replaced-after-its-record",
        record("/opt/rocm/lib/librccl.so.1.0") + "\nCOPY rccl-again.so /opt/rocm/lib/librccl.so.1.0",
        "rccl build record",
        "replaced after",
    ),
    Lie(
        "loaded-beside-its-record",
        "COPY rccl.so /opt/built.so\n" + record("/opt/built.so"),
        "rccl build record",
        "did not install",
    ),
    Lie(
        "record-of-a-dirty-tree",
        record("/opt/rocm/lib/librccl.so.1.0", dirty="yes"),
        "rccl commit (build record",
        "changed files",
    ),
    Lie(
        "record-cut-short",
        record("/opt/rocm/lib/librccl.so.1.0") + f" && head -c 85 {RECORD} >{RECORD}.new && mv {RECORD}.new {RECORD}",
        "rccl build record",
        "unreadable record",
    ),
    Lie(
        "record-without-word-of-changed-files",
        record("/opt/rocm/lib/librccl.so.1.0") + f" && sed -i /dirty/d {RECORD}",
        "rccl build record",
        "unreadable record",
    ),
    Lie(
        "record-emptied",
        record("/opt/rocm/lib/librccl.so.1.0") + f"\nRUN truncate -s 0 {RECORD}",
        "rccl build record",
        "unreadable record",
    ),
    Lie(
        "other-code-under-the-same-build-id",
        "RUN mkdir /opt/second && python3 -c 'from pathlib import Path; "
        'data = bytearray(Path("/opt/rocm/lib/librccl.so.1.0").read_bytes()); '
        'data[data.index(b"gfx942") + 5] = 48; Path("/opt/second/librccl.so.1").write_bytes(data)\'',
        "rccl copies of librccl.so",
        "/opt/second",
    ),
    Lie(
        "copy-for-newer-processors",
        "COPY rccl-old.so /opt/rocm/lib/glibc-hwcaps/x86-64-v2/librccl.so.1\nENV LD_LIBRARY_PATH=/opt/rocm/lib/",
        "rccl version",
        "LD_LIBRARY_PATH puts /opt/rocm/lib first",
    ),
    Lie(
        "copy-of-a-search-path-that-is-cut-at-a-semicolon",
        "COPY rccl-old.so /opt/stock/lib/librccl.so.1\nENV LD_LIBRARY_PATH=/opt/stock/lib;/opt/rocm/lib",
        "rccl version",
        "LD_LIBRARY_PATH puts /opt/stock/lib first",
    ),
    Lie(
        "python-that-ends-as-the-served-program-starts-it",
        f"RUN echo 'import os; os._exit(7)' >{SITE}/end.pth",
        "python",
        "exit code 7",
        image="python",
    ),
    Lie("env-missing", "ENV RCCL_DDA_FABRIC_MAXBLOCKS=", "env RCCL_DDA_FABRIC_MAXBLOCKS", "replaced"),
    Lie("env-of-another-value", "ENV RCCL_DDA_FABRIC_MAXBLOCKS=256", "env RCCL_DDA_FABRIC_MAXBLOCKS", "256"),
    Lie("env-left-over", "ENV OLD_WORKAROUND=1", "env OLD_WORKAROUND", "does not hold"),
    Lie("search-path-with-an-empty-element", "ENV LD_LIBRARY_PATH=/opt/rocm/lib:", "LD_LIBRARY_PATH", "empty element"),
    Lie("search-path-with-a-relative-element", "ENV LD_LIBRARY_PATH=lib:/opt/rocm/lib", "LD_LIBRARY_PATH", "relative"),
    Lie(
        "version-file-echoes-the-request",
        "COPY rccl-old.so /opt/rocm/lib/librccl.so.1.0\n"
        "RUN mkdir /app && echo 'RCCL_COMMIT: 1c0ab425abda9d1fd80fa977c253556b14eb140b' >/app/versions.txt",
        "rccl commit",
        "0d2c4fd",
    ),
    Lie(
        "version-file-claims-another",
        "RUN mkdir /app && echo 'RCCL_COMMIT: 7da43026e4f2ef7600433c38c820732f7a205d22' >/app/versions.txt",
        "rccl commit (version file",
        "7da4302",
        status=Status.FINDING,
    ),
    Lie(
        "label-claims-another",
        "LABEL com.example.rccl.version=2.30.7",
        "rccl version (label",
        "2.30.7",
        status=Status.FINDING,
    ),
    Lie("env-claims-another", "ENV NCCL_VERSION=2.15.5", "rccl version (ENV", "2.15.5", status=Status.FINDING),
    Lie(
        "preloaded-second-copy",
        "COPY rccl-old.so /opt/hook/librccl.so.1\nENV LD_PRELOAD=/opt/hook/librccl.so.1",
        "rccl version",
        "LD_PRELOAD",
    ),
    Lie(
        "function-of-a-preloaded-hook",
        "COPY hook.so /opt/hook/libhook.so\nENV LD_PRELOAD=/opt/hook/libhook.so",
        "rccl provider",
        "LD_PRELOAD names it",
    ),
    Lie(
        "function-of-a-hook-that-every-process-preloads",
        "COPY hook.so /opt/hook/libhook.so\nRUN echo /opt/hook/libhook.so >/etc/ld.so.preload",
        "rccl provider",
        "/etc/ld.so.preload names it",
    ),
    Lie(
        "second-copy-that-every-process-preloads",
        "COPY rccl-old.so /opt/hook/librccl.so.1\nRUN echo /opt/hook/librccl.so.1 >/etc/ld.so.preload",
        "rccl version",
        "/etc/ld.so.preload names it",
    ),
    Lie(
        "auditor-before-every-library",
        "COPY hook.so /opt/hook/libhook.so\nENV LD_AUDIT=/opt/hook/libhook.so",
        "env LD_AUDIT",
        "/opt/hook/libhook.so",
        status=Status.FINDING,
    ),
    Lie(
        "library-named-to-the-program",
        "COPY hook.so /opt/stock/libnccl-stock.so\nENV VLLM_NCCL_SO_PATH=/opt/stock/libnccl-stock.so",
        "env VLLM_NCCL_SO_PATH",
        "libnccl-stock.so",
        status=Status.FINDING,
    ),
    Lie(
        "consumer-that-needs-no-library",
        "COPY torch-none.so /opt/torch/lib/libtorch_hip.so",
        "rccl library",
        "no load maps librccl.so",
        image="consumer",
    ),
    Lie(
        "consumer-that-holds-the-library",
        "COPY torch-static.so /opt/torch/lib/libtorch_hip.so",
        "rccl provider",
        "ncclGetVersion of /opt/torch/lib/libtorch_hip.so",
        image="consumer",
    ),
    Lie(
        "consumer-of-a-library-of-another-name",
        "COPY librccl_stock.so.1 /opt/torch/lib/\nCOPY torch-other.so /opt/torch/lib/libtorch_hip.so",
        "rccl provider",
        "librccl_stock.so.1",
        image="consumer",
    ),
    Lie(
        "load-that-hangs",
        "COPY hip-hangs.so /opt/rocm/lib/libamdhip64.so.7.16.26361-25e14349f2",
        "load libamdhip64.so.7",
        "hangs",
        load_timeout=4,
    ),
    Lie("load-that-crashes", "COPY rccl-crashes.so /opt/rocm/lib/librccl.so.1.0", "load librccl.so.1", "crashes"),
    Lie(
        "load-with-an-undefined-symbol",
        "COPY rccl-undefined.so /opt/rocm/lib/librccl.so.1.0",
        "load librccl.so.1",
        "rsmi_init",
    ),
    Lie(
        "copy-below-a-name-that-is-no-utf-8",
        'COPY rccl-old.so /tmp/librccl.so.1\nRUN d=$(printf \'/opt/\\377\'); mkdir "$d" && mv /tmp/librccl.so.1 "$d/"',
        "rccl copies of librccl.so",
        "xff",
    ),
    Lie(
        "gate-that-the-program-decides-otherwise",
        f"RUN d={SITE}/vllm/v1/simple_kv_offload; mkdir -p $d && touch {SITE}/vllm/__init__.py && "
        "printf 'import ctypes\\n"
        'ctypes.CDLL("libamdhip64.so.7")\\ndef _copy_flags_for_hip_version(v):\\n    return 0\\n\' >$d/cuda_mem_ops.py',
        "gate prefer_ce_batch_copy in the program",
        "otherwise",
    ),
    Lie(
        "required-gate-off",
        "COPY hip-old-gate.so /opt/rocm/lib/libamdhip64.so.7.16.26361-25e14349f2",
        "gate prefer_ce_batch_copy",
        "does not hold",
    ),
    Lie(
        "package-of-another-version",
        package("1.3-1"),
        "libhello package",
        "1.3-1",
        image="package",
    ),
    Lie(
        "package-removed-but-configured",
        package("1.2-1", "deinstall ok config-files"),
        "libhello package",
        "not installed",
        image="package",
    ),
    Lie(
        "file-of-no-package-loaded",
        package("1.2-1") + " && echo /usr/lib/librccl.so.1 >/var/lib/dpkg/info/libhello1.list",
        "libhello owner",
        "/opt/rocm/lib",
        image="package",
    ),
    Lie(
        "file-of-a-package-replaced",
        package("1.2-1") + " && echo '00000000000000000000000000000000  opt/rocm/lib/librccl.so.1.0' "
        ">/var/lib/dpkg/info/libhello1.md5sums",
        "libhello files",
        "librccl.so.1.0 differs",
        image="package",
    ),
    Lie(
        "wheel-without-its-record",
        wheel("kernel-pack", "2.0") + "\n" + wheel("app", "1.0"),
        "kernels files",
        "nobody can tell",
        image="python",
        status=Status.UNPROVEN,
    ),
    Lie(
        "wheel-without-its-files",
        wheel("kernel-pack", "2.0") + f" && echo 'kernel_pack.py,,' >{SITE}/kernel_pack-2.0.dist-info/RECORD",
        "kernels files",
        "kernel_pack.py is gone",
        image="python",
    ),
    Lie(
        "large-library-of-a-wheel-replaced-by-one-of-its-size",
        wheel("kernel-pack", "2.0") + f" && head -c 2000000 /dev/zero >{SITE}/k.so && "
        f"echo 'k.so,sha256=AAAA,2000000' >{SITE}/kernel_pack-2.0.dist-info/RECORD",
        "kernels files",
        "k.so differs",
        image="python",
    ),
    Lie(
        "files-of-a-package-that-git-pins",
        wheel("vllm", "0.21.0+gaaaaaaaaa") + f" && mkdir {SITE}/vllm && echo 'x = 2' >{SITE}/vllm/__init__.py && "
        f"echo 'vllm/__init__.py,sha256=AAAA,6' >{SITE}/vllm-0.21.0+gaaaaaaaaa.dist-info/RECORD",
        "vllm files",
        "overwritten",
        image="editable",
    ),
    Lie(
        "wheel-shadowed-by-a-search-path",
        wheel("kernel-pack", "2.0") + f" && echo 'v = 2' >{SITE}/kernel_pack.py && echo 'kernel_pack.py,,' "
        f">{SITE}/kernel_pack-2.0.dist-info/RECORD && mkdir /app && echo 'v = 1' >/app/kernel_pack.py\n"
        "ENV PYTHONPATH=/app",
        "kernels import",
        "PYTHONPATH puts it",
        image="python",
    ),
    Lie("wheel-replaced-later", wheel("kernel-pack", "1.0"), "kernels package", "by pip", image="python"),
    Lie(
        "wheel-files-overwritten",
        wheel("kernel-pack", "2.0") + f" && echo 'x = 1' >{SITE}/kernel_pack.py && echo 'kernel_pack.py,sha256=AAAA,6' "
        f">{SITE}/kernel_pack-2.0.dist-info/RECORD",
        "kernels files",
        "overwritten",
        image="python",
    ),
    Lie(
        "wheel-metadata-twice",
        wheel("kernel-pack", "2.0") + "\n" + wheel("Kernel_Pack", "1.9"),
        "kernels package",
        "left behind",
        image="python",
    ),
    Lie(
        "packages-that-do-not-fit",
        wheel("kernel-pack", "2.0") + "\n" + wheel("app", "1.0", "Requires-Dist: kernel-pack==1.0"),
        "app needs kernel-pack",
        "do not fit",
        image="python",
    ),
    Lie(
        "editable-install-shadowed",
        f"RUN mkdir -p /src/vllm {SITE}/vllm && touch /src/vllm/__init__.py {SITE}/vllm/__init__.py && "
        f"echo /src >{SITE}/__editable__.vllm.pth",
        "vllm module vllm",
        "/src/vllm",
        image="editable",
    ),
    Lie(
        "version-of-another-commit",
        wheel("vllm", "0.21.0+gabcdef0"),
        "vllm commit",
        "abcdef0",
        image="editable",
    ),
    Lie(
        "version-that-is-a-fallback",
        wheel("vllm", "0.0.0"),
        "vllm commit",
        "nothing",
        image="editable",
        status=Status.UNPROVEN,
    ),
    Lie(
        "checkout-of-another-commit",
        "RUN mkdir -p /src/.git && cd /src/.git && echo 'ref: refs/heads/main' >HEAD && "
        "echo 'bbbbbbbbbbbbbbbbbbbbcccccccccccccccccccc refs/heads/main' >packed-refs && "
        "printf '[remote \"origin\"]\\n\\turl = https://upstream.example/vllm\\n' >config && chown -R 1234 /src",
        "vllm commit",
        "bbbbbbb",
        image="editable",
    ),
]

HONEST = {
    "nothing-odd": "",
    "links-everywhere": "RUN mkdir -p /opt/venv && ln -s /opt/rocm /opt/venv/sdk && ln -s .. /opt/rocm/loop && "
    "ln -s librccl.so.1.0 /opt/rocm/lib/librccl.so && ln -s self /opt/self",
    "hard-link-of-the-same-content": "RUN cd /opt/rocm/lib && ln librccl.so.1.0 librccl.so.1.0.70101 && ldconfig",
    "one-build-with-a-search-path-for-each-tree": "COPY rccl-one-tree.so /opt/rocm/lib/librccl.so.1.0\n"
    "COPY rccl-other-tree.so /opt/core/lib/librccl.so.1\n"
    + record("/opt/rocm/lib/librccl.so.1.0", "/opt/core/lib/librccl.so.1"),
    "record-under-another-hard-link": "RUN cd /opt/rocm/lib && ln librccl.so.1.0 librccl.so.built\n"
    + record("/opt/rocm/lib/librccl.so.built"),
    "record-in-other-words": record("/opt/rocm/lib/librccl.so.1.0", dirty="False"),
    "same-bytes-in-two-trees": "COPY rccl.so /opt/other/lib/librccl.so.1",
    "hard-link-under-the-stock-name": "RUN cd /opt/rocm/lib && ln libamdhip64.so.7.16.26361-25e14349f2 "
    "libamdhip64.so.7.15.26333-0000000",
    "extra-architecture": "COPY rccl-extra-arch.so /opt/rocm/lib/librccl.so.1.0",
    "other-locale": "ENV LC_ALL=de_DE.ISO-8859-1 PYTHONIOENCODING=latin-1",
    "other-user": "RUN mkdir -m 700 /secret\nUSER 12345:12345",
    "banner-and-deaf-entrypoint": 'RUN printf "#!/bin/sh\\necho BANNER\\nsleep 1000\\n" >/entry && chmod +x /entry\n'
    'ENTRYPOINT ["/entry"]\nCMD ["ignored"]',
    "noisy-python-start": f"RUN echo 'import sys; print(\"hello from site\" * 1000)' >{SITE}/noise.pth",
    "noisy-library": "COPY rccl-noisy.so /opt/rocm/lib/librccl.so.1.0",
    "script-with-a-library-name": "RUN echo 'GROUP ( /opt/rocm/lib/librccl.so.1 )' >/opt/librccl.so && "
    "mkfifo /opt/librccl.so.2 && mkdir /opt/librccl.so.3",
    "python-path-with-a-trap": "RUN mkdir /trap && echo 'raise SystemExit(3)' >/trap/json.py\nENV PYTHONPATH=/trap",
    "stray-malformed-object": "COPY rccl-malformed.so /opt/junk/librccl.so.1",
    "volume-and-workdir": "VOLUME /data\nWORKDIR /not/there/yet",
}


CODE = "x = 1\n"
CHECKSUM = base64.urlsafe_b64encode(sha256(CODE.encode()).digest()).rstrip(b"=").decode()


def whole_wheel(name: str, version: str) -> str:
    """Dockerfile lines that install a distribution of one module as pip does."""
    module = name.replace("-", "_")
    return (
        wheel(name, version) + f" && printf 'x = 1\\n' >{SITE}/{module}.py && "
        f"printf '{module}.py,sha256={CHECKSUM},{len(CODE)}\\n__pycache__/{module}.cpython-313.pyc,,\\n' "
        f">{SITE}/{module}-{version}.dist-info/RECORD"
    )


HONEST_ELSEWHERE = {
    "copy-that-pins-yaml-allows": (
        "COPY torch-runpath.so /opt/torch/lib/libtorch_hip.so\nCOPY rccl-old.so /opt/unused/librccl.so.1",
        "consumer",
    ),
    "consumer-of-the-pinned-library": ("COPY torch-runpath.so /opt/torch/lib/libtorch_hip.so", "consumer"),
    "package-as-installed": (
        package("1.2-1") + " && cd / && md5sum opt/rocm/lib/librccl.so.1.0 >/var/lib/dpkg/info/libhello1.md5sums && "
        "echo /opt/rocm/lib/librccl.so.1.0 >/var/lib/dpkg/info/libhello1.list",
        "package",
    ),
    "wheels-as-installed": (whole_wheel("kernel-pack", "2.0") + "\n" + whole_wheel("app", "1.0"), "python"),
    "checkout-of-a-package-s-name-in-the-working-directory": (
        f"WORKDIR /sgl/vllm/python/vllm\nRUN touch __init__.py && echo /sgl/vllm/python >{SITE}/v.pth\nWORKDIR /sgl",
        "editable",
    ),
}


@pytest.fixture(scope="module", autouse=True)
def _images(lab: Lab) -> None:
    stages = {lie.name: lie.lines for lie in LIES} | HONEST
    stages |= {name: lines for name, (lines, _) in HONEST_ELSEWHERE.items()}
    lab.build(stages)


def named(report: Report, name: str, status: Status) -> Check:
    """The check whose name begins so."""
    found = [check for check in report.checks if check.name.startswith(name) and check.status is status]
    told = "\n".join(f"{check.status} {check.name}: {check.found} {check.cause}" for check in report.checks)
    assert found, f"no check {name!r} is {status} in\n{report.outcome} {report.message}\n{told}"
    return found[0]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.name)
def test_lie_is_caught_with_its_cause(lie: Lie, verify_image: Callable[..., Report]) -> None:
    report = verify_image(lie.name, image=lie.image, load_timeout=lie.load_timeout)

    check = named(report, lie.check, lie.status)
    assert lie.says in f"{check.found} {check.cause} {check.file}"
    assert not report.is_good(strict=True)
    assert report.is_good() is (lie.status is not Status.FAILED)


@pytest.mark.parametrize("name", HONEST)
def test_honest_oddity_raises_no_alarm(name: str, verify_image: Callable[..., Report]) -> None:
    report = verify_image(name)

    assert [check for check in report.checks if check.status is Status.FAILED] == []
    assert report.is_good()


@pytest.mark.parametrize("name", HONEST_ELSEWHERE)
def test_honest_image_of_each_other_kind_has_nothing_wrong(name: str, verify_image: Callable[..., Report]) -> None:
    report = verify_image(name, image=HONEST_ELSEWHERE[name][1])

    bad = (Status.FAILED, Status.FINDING)
    assert [check for check in report.checks if check.status in bad] == []
    assert report.is_good()


@pytest.mark.parametrize("name", ["one-build-with-a-search-path-for-each-tree", "record-under-another-hard-link"])
def test_copies_that_the_build_recorded_are_no_finding(name: str, verify_image: Callable[..., Report]) -> None:
    assert verify_image(name).is_good(strict=True)


@pytest.mark.parametrize("name", [name for name in HONEST_ELSEWHERE if not name.startswith("checkout-")])
def test_honest_image_of_each_other_kind_is_proven(name: str, verify_image: Callable[..., Report]) -> None:
    assert verify_image(name, image=HONEST_ELSEWHERE[name][1]).is_good(strict=True)


def test_architectures_that_only_strings_name_are_told_as_such(verify_image: Callable[..., Report]) -> None:
    check = named(verify_image("nothing-odd"), "architectures of librccl.so.1.0", Status.PASSED)

    assert check.how == "names in its strings; no code object was found"
