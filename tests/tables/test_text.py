"""Text tables: one table written in many ways is read as one; what is wrong is said."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sparsebounds._support.errors import InputError
from sparsebounds.tables import read_frame

PLAIN = "mass,size,name\n1.5,-2,a\n-0.25,3,b\n1e3,4,a\n"
WANTED = pl.DataFrame({"mass": [1.5, -0.25, 1000.0], "size": [-2, 3, 4], "name": ["a", "b", "a"]})


def separated(by: str, *, decimal_comma: bool = False) -> str:
    text = PLAIN.replace("1e3", "1000.0").replace(",", by)
    return text.replace(".", ",") if decimal_comma else text


WRITINGS: dict[str, tuple[bytes, str]] = {
    "plain.csv": (PLAIN.encode(), ""),
    "no suffix": (PLAIN.encode(), ""),
    "bom.csv": (PLAIN.encode("utf-8-sig"), ""),
    "utf16.csv": (PLAIN.encode("utf-16"), ""),
    "dos.csv": (PLAIN.replace("\n", "\r\n").encode(), ""),
    "mac.csv": (PLAIN.replace("\n", "\r").encode(), ""),
    "no end.csv": (PLAIN.rstrip("\n").encode(), ""),
    "blank lines.csv": (PLAIN.replace("\n", "\n\n").encode(), "without any value left out."),
    "spaces.csv": (PLAIN.replace(",", " , ").encode(), ""),
    "plus.csv": (PLAIN.replace("1.5", "+1.5").encode(), ""),
    "quotes.csv": (PLAIN.replace("name", '"name"').replace("b", '"b"').encode(), ""),
    "apostrophes.csv": (re.sub(r"([a-z]{3,}|[ab](?=\n))", r"'\1'", PLAIN).encode(), ""),
    "end commas.csv": (PLAIN.replace("\n", ",\n").encode(), ""),
    "semicolons.csv": (separated(";").encode(), ""),
    "bars.txt": (separated("|").encode(), ""),
    "tabs.tsv": (separated("\t").encode(), ""),
    "decimal commas.csv": (separated(";", decimal_comma=True).encode(), "with decimal commas."),
    "comma tabs.tsv": (separated("\t", decimal_comma=True).encode(), "with decimal commas."),
    "packed.csv.gz": (gzip.compress(PLAIN.encode(), mtime=0), ""),
    "packed.tsv.gz": (gzip.compress(separated("\t").encode(), mtime=0), ""),
    "numbered.csv": (b",mass,size,name\n0,1.5,-2,a\n1,-0.25,3,b\n2,1e3,4,a\n", "was left out."),
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(content: bytes | str, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


@pytest.mark.parametrize("name", WRITINGS)
def test_one_table_in_many_writings(name: str, write: Callable[..., Path]) -> None:
    content, note = WRITINGS[name]
    frame, notes = read_frame(write(content, name))
    assert_frame_equal(frame, WANTED, check_dtypes=False)
    assert [sentence.endswith(note) for sentence in notes] == [True] * bool(note)


@pytest.mark.parametrize("suffix", [".parquet", ".pq", ".feather", ".arrow", ".ipc"])
def test_columnar_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data{suffix}"
    WANTED.write_parquet(path) if suffix in (".parquet", ".pq") else WANTED.write_ipc(path)
    frame, notes = read_frame(path)
    assert_frame_equal(frame, WANTED)
    assert notes == []


def test_feather_of_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    WANTED.to_pandas().to_feather(tmp_path / "data.feather")
    assert_frame_equal(read_frame(tmp_path / "data.feather")[0], WANTED)


def test_latin_letters(write: Callable[..., Path]) -> None:
    for text in ("größe,y\n1,2\n", "a,stadt\n1,Köln\n", "a,b\n" + "1,x\n" * 40_000 + "1,é\n"):
        path = write(text.encode("latin-1"))
        frame, notes = read_frame(path)
        assert notes == [f"{path} is not UTF-8; it was read as Windows-1252 (Latin-1)."]
        assert frame.equals(read_frame(write(text))[0])


def test_missing_cells_and_truths(write: Callable[..., Path]) -> None:
    frame, _ = read_frame(write("a,b,c,d\nTrue,1,x,1\n,NA,?,2\nFALSE,nan,  ,3\n"))
    assert frame["a"].to_list() == [True, None, False]
    assert frame["b"].to_list() == [1, None, None]
    assert frame["c"].to_list() == ["x", None, None]


def test_late_rows_decide_types(write: Callable[..., Path]) -> None:
    """Rows beyond those that types are guessed from."""
    frame, _ = read_frame(write("a,b,c\n" + "1,2,\n" * 3000 + "1.5,x,7\n"))
    assert frame.dtypes == [pl.Float64, pl.String, pl.Int64]
    assert frame.row(-1) == (1.5, "x", 7)
    frame, _ = read_frame(write("a,b,c\n" + "1,,\n" * 3000 + "1,7,true\n"))
    assert frame.row(-1) == (1, 7.0, True)


def test_thousands_are_not_decimals(write: Callable[..., Path]) -> None:
    """Between tabs 1,234 may be either, so it stays text; between semicolons it is a fraction."""
    assert read_frame(write("a\tb\n1,234\t1\n2,345\t2\n", "data.tsv"))[0].dtypes[0] == pl.String
    assert read_frame(write("a;b\n1,234;1\n2,345;2\n"))[0]["a"].to_list() == [1.234, 2.345]
    assert read_frame(write('a,b\n"1,234",1\n'))[0].dtypes[0] == pl.String


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty."),
        ("\n \n", "is empty."),
        ("\na,b\n1,2\n", "is empty; it must hold the columns' names."),
        ("a,b\n", "has a header but no rows."),
        ("a,b,a,c,c\n1,2,3,4,5\n", "has more than one column named 'a', 'c'; rename them."),
        ("a,b\n1,2\n1,2,3\n", "row by row: line 3 has 3 fields, but the header 2."),
        ("a,b\n1,2\n1\n", "row by row: line 3 has 1 field, but the header 2."),
        ('a,b\n1,"2\n3,4\n', "its quotation marks do not match"),
        ("1.5,2\n3,4\n", "holds numbers only; add a line with the columns' names above it."),
        ("a,,b\n1,x,2\n", "Column 2 of"),
        (",b\n7,1\n3,2\n", "Column 1 of"),
        (b"\x00\x01\x02" * 9, "is not a text table"),
        (gzip.compress(PLAIN.encode(), mtime=0)[:40], "cannot be unpacked: it is cut or damaged"),
    ],
)
def test_sentences(content: bytes | str, sentence: str, write: Callable[..., Path]) -> None:
    path = write(content)
    with pytest.raises(InputError) as caught:
        read_frame(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_cut_archive_never_passes(write: Callable[..., Path]) -> None:
    """Cut anywhere, also beyond the rows that the dialect is guessed from."""
    packed = gzip.compress("".join(["a,b\n", *(f"{i},{i * i}\n" for i in range(30_000))]).encode())
    for length in (len(packed) - 1, len(packed) // 2, 30):
        with pytest.raises(InputError, match="cut or damaged"):
            read_frame(write(packed[:length], "data.csv.gz"))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere.csv", "nowhere.csv does not exist."),
        (".", "is a folder; name a file."),
        ("data.xlsx", "save the table as CSV, or as Parquet."),
        ("data.dta", "save the table as CSV, or as Parquet."),
        ("data.parquet", "cannot be read as Parquet:"),
        ("data.feather", "cannot be read as Feather (version 2):"),
    ],
)
def test_files_of_the_wrong_kind(name: str, sentence: str, tmp_path: Path) -> None:
    if name.startswith("data"):
        (tmp_path / name).write_bytes(b"not what it says")
    with pytest.raises(InputError) as caught:
        read_frame(tmp_path / name)
    assert sentence in str(caught.value)
