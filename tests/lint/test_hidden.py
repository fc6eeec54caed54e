"""What git commands in templates and Dockerfiles name literally."""

import pytest

from imagepins.lint.hidden import hidden_literals


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("RUN git fetch --depth 1 origin v1.2", ["v1.2"]),
        ("RUN git fetch --depth=1 origin +v1.2:v1.2", ["v1.2"]),
        ("RUN git fetch -q -j 4 --filter blob:none origin refs/tags/v1", ["refs/tags/v1"]),
        ("RUN git fetch https://e.org/x.git v1", ["v1", "https://e.org/x.git"]),
        ("RUN git checkout -b x v1.2", ["v1.2"]),
        ("RUN git checkout -qb x v1.2 && git switch -c y", ["v1.2"]),
        ("RUN git checkout v1.2 setup.py", ["v1.2"]),
        ("RUN git checkout v1.2 -- setup.py", ["v1.2"]),
        ("RUN git switch --detach v1.2 >/dev/null 2>&1", ["v1.2"]),
        ("RUN git clone -bv1 $URL && git clone --depth 1 -b v2 $URL v3", ["v1", "v2"]),
        ("RUN git -c a.b=c -C /src --git-dir x merge --no-ff -m v0 v1 v2", ["v1", "v2"]),
        ("RUN git cherry-pick -m 1 -X theirs v1", ["v1"]),
        ("RUN git pull --rebase origin develop", ["develop"]),
        ("RUN /usr/bin/git checkout v1; (cd y; git checkout v2) | cat", ["v1", "v2"]),
        ("RUN bash -c 'cd x && git checkout v1'", ["v1"]),
        ('RUN sh -c "git checkout v1 || git checkout $X"', ["v1"]),
        ('RUN ["git", "checkout", "v1"]', ["v1"]),
        ("RUN [[% if a %]]git checkout v1[[% endif %]]", ["v1"]),
        ("RUN git checkout 'v1'", ["v1"]),
        ("RUN git checkout v[[[ pins.x.version ]]]", []),
        ("RUN git checkout -b x", []),
        ("RUN git fetch --depth 1 origin", []),
        ("RUN git fetch origin $COMMIT:refs/x", []),
        ("RUN git clone -o upstream $URL v1", []),
        ("RUN apt-get install -y git curl", []),
        ("RUN git checkout --force -- v1", []),
        ("RUN git submodule update --init v1", []),
        ("RUN echo 'it is git' && ls checkout", []),
    ],
)
def test_refs_of_git_commands(text: str, found: list[str]) -> None:
    assert [hidden.literal for hidden in hidden_literals(f"{text}\n", frozenset())] == found


def test_command_over_several_lines_is_read_as_one_and_told_at_its_own_line() -> None:
    text = "RUN true && \\\n  # why\n  git fetch origin \\\n   release/7.3 && \\\n  git checkout \\\n  v1\nRUN true\n"
    found = [(hidden.line, hidden.literal) for hidden in hidden_literals(text, frozenset())]
    assert found == [(4, "release/7.3"), (6, "v1")]


def test_body_of_a_here_document_is_read_line_by_line() -> None:
    text = "RUN <<'EOF'\nset -e\necho \"it's\"\ngit checkout v1\nEOF\n"
    assert [hidden.line for hidden in hidden_literals(text, frozenset())] == [4]
