"""Words of Dockerfiles, with the values that BuildKit gives them (compared with dockerfile/1 of buildx 0.29)."""

import pytest

from imagepins.plan.words import WordError, evaluate, split_words

VALUES = {"A": "1", "P": "foo.bar.baz", "E": "", "S": "x y", "G": "aXbXc*d", "D": "u/v", "B": "x\\yz"}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("$A${A}x", "11x"),
        ("$U", ""),
        ("a$", "a$"),
        ("$.x", "$.x"),
        ("$#$1$@", ""),
        ("\\$A", "$A"),
        ("a\\", "a"),
        ("\\a\\\\", "a\\"),
        ('"\\a\\$A"', "\\a$A"),
        ("'$A'", "$A"),
        ('"$A"', "1"),
        ("\"a\"'b'c", "abc"),
        ("${U-w}${U:-w}${E-w}${E:-w}", "www"),
        ("${A+w}${E+w}${E:+w}${U+w}", "ww"),
        ("${A?no}${A:?no}${E?no}", "11"),
        ("${U:-${A}}${U:-${V:-deep}}", "1deep"),
        ("${U:-'a b'}", "a b"),
        ('"${U:-"q"}"', "q"),
        ("${U:-a\\}b}", "a}b"),
        ("${P#*.}", "bar.baz"),
        ("${P##*.}", "baz"),
        ("${P%.*}", "foo.bar"),
        ("${P%%.*}", "foo"),
        ("${P#f?o}", ".bar.baz"),
        ("${P#no}", "foo.bar.baz"),
        ("${P##*}", ""),
        ("${P/./-}", "foo-bar.baz"),
        ("${P//./-}", "foo-bar-baz"),
        ("${P//[a-z]/x}", "foo.bar.baz"),
        ("${G/\\*/-}", "aXbXc-d"),
        ("${G//X/$A}", "a1b1c*d"),
        ('${P%"."*}', "foo.bar"),
        ("${D//\\//-}", "u-v"),
        ("${P/o/'$A'}", "f$Ao.bar.baz"),
        ('${B/"\\y"/-}', "x-z"),
        ("${B/\\\\/-}", "x-yz"),
    ],
)
def test_word_has_the_value_that_buildkit_gives_it(word: str, value: str) -> None:
    assert evaluate(word, VALUES.get) == value


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("${A", "Docker knows no '' behind a name"),
        ("${}", "bad substitution"),
        ("${:-x}", "bad substitution"),
        ("${E:?empty}", "E: empty"),
        ("${U?}", "U: is not set"),
        ("${U:-x", "no '}' ends the variable"),
        ("${P//o}", "no '/' ends the variable"),
        ("${A:1}", "Docker knows no ':1'"),
        ("${#A}", "Docker knows no 'A'"),
        ("${A@Q}", "Docker knows no '@'"),
        ("${P%\\.*}", "'\\.' is no escape in the pattern"),
        ('"open', 'no " ends the quotation'),
        ("'open", "no ' ends the quotation"),
    ],
)
def test_word_that_buildkit_refuses_is_an_error(word: str, reason: str) -> None:
    with pytest.raises(WordError) as error:
        evaluate(word, VALUES.get)
    assert reason in str(error.value)


def test_escape_of_the_directive_takes_the_place_of_the_backslash() -> None:
    assert evaluate("`$A\\$A", VALUES.get, escape="`") == "$A\\1"


def test_variable_without_value_is_kept_where_that_is_asked_for() -> None:
    assert evaluate("$U/${U%.*}/${U:?no}/${U:-d}/$A", VALUES.get, keep_unset=True) == "$U/${U%.*}/${U:?no}/d/1"


def test_words_are_parted_by_blanks_outside_of_quotes() -> None:
    assert split_words('a="x y" b=\'p q\'  c=r\\ s "open t') == ['a="x y"', "b='p q'", "c=r\\ s", '"open', "t"]
