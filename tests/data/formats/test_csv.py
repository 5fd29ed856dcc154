"""Tables as people have them, each written from numbers that are known, then read back."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.data import from_arrays, load
from priorscope.data.formats._text_table import find_separator

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(30, 2)) * 50, 2)
Y = np.round(RNG.normal(size=30) * 5, 3)
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y})


def read(tmp_path, text, name="t.csv", **options):
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(file, test_fraction=0, dtype=torch.float64, **options)


def rows(data):
    return sorted(torch.cat([data.inputs, data.targets], 1).tolist())


def written(frame=FRAME, **options):
    out = io.StringIO()
    frame.to_csv(out, **{"index": False, **options})
    return out.getvalue()


def savetxt(**options):
    out = io.StringIO()
    np.savetxt(out, FRAME.to_numpy(), fmt="%.18g", **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (written(), ()),
        (written(sep=";", decimal=","), ("columns are separated by ';'", "the decimal sign is a comma")),
        (written(sep="\t", decimal=","), ("columns are separated by tabs", "the decimal sign is a comma")),
        (written(sep=";"), ("columns are separated by ';'",)),
        (written(sep="|"), ("columns are separated by '|'",)),
        (written(sep="\t"), ("columns are separated by tabs",)),
        (written(sep=" "), ("columns are separated by blanks",)),
        (written(decimal=","), ("the decimal sign is a comma",)),  # fields with a comma are quoted
        ("sep=;\n" + written(sep=";"), ("columns are separated by ';'",)),
        (written(lineterminator="\r\n"), ()),
        (written(lineterminator="\r"), ()),
        ("\ufeff" + written(), ()),
        (written().encode("utf-16"), ()),
        (written(quoting=1), ()),
        (written().replace(",", " , "), ()),
        ("\n\n" + written() + "\n\n,,\n", ()),
        (written(index=True), ()),
        ("# made today\n" + written(), ("1 lines of remarks (#) are left out",)),
        (savetxt(header="a,b,y", delimiter=","), ()),
        (savetxt(header="a b y"), ("columns are separated by blanks",)),
        ("\n".join(line + "," for line in written().splitlines()), ()),
        ("\n".join([written().splitlines()[0], *(line + "," for line in written().splitlines()[1:])]), ()),
    ],
)
def test_ways_to_write_a_table(tmp_path, text, notes):
    data = read(tmp_path, text)
    assert rows(data) == sorted(FRAME.to_numpy().tolist())
    assert data.task == "regression"
    told = (*notes, "target: the last column, 'y'", "input columns: a, b")
    assert tuple(n for n in data.notes if ("left out" not in n or "#" in n) and "pandas" not in n) == told


def test_quoted_decimal_commas_between_commas(tmp_path):
    data = read(tmp_path, written(decimal=",", quoting=1))
    assert rows(data) == sorted(FRAME.to_numpy().tolist())
    assert "the decimal sign is a comma" in data.notes


@pytest.mark.parametrize("packed", [False, True])
def test_a_table_without_names_keeps_its_first_row(tmp_path, packed):
    """Rows of numbers, with and without a column of words, and one that starts with a gap."""
    text = written(header=False)
    raw = gzip.compress(text.encode()) if packed else text.encode()
    data = read(tmp_path, raw, "t.csv.gz" if packed else "t.csv")
    assert rows(data) == sorted(FRAME.to_numpy().tolist())
    assert data.notes[0] == "no row of names: columns are numbered"
    kinds = ["u", "v", "w"] * 10
    words = FRAME.assign(kind=kinds)
    data = read(tmp_path, written(words, header=False))
    assert (len(data.train), data.classes, data.input_shape) == (30, ("u", "v", "w"), (3,))
    assert data.notes[:2] == ("no row of names: columns are numbered", "target: the last column, 'column 3'")
    gap = "NA" + text[text.index(",") :]
    assert len(read(tmp_path, gap).train) == 30
    with_names = read(tmp_path, written(words), header=True)
    assert len(with_names.train) == 30


def test_names_that_are_numbers(tmp_path):
    """pandas numbers the columns of an array, some tables have years for names."""
    data = read(tmp_path, written(pd.DataFrame(FRAME.to_numpy())))
    assert rows(data) == sorted(FRAME.to_numpy().tolist())
    assert data.notes[0] == "the first row, 0, 1, 2, counts the columns: it is read as their names"
    years = read(tmp_path, written(FRAME.set_axis(["2019", "2020", "2021"], axis=1).round().astype(int)))
    assert len(years.train) == 30
    assert read(tmp_path, "1,2,0.5\n1,2,0.7\n2,2,0.1\n").notes[0] == "no row of names: columns are numbered"
    with pytest.raises(ValueError, match=r"\(1, 2, 3\) may count the columns or be data.*Pass header=True"):
        read(tmp_path, "1,2,3\n1,5,4.5\n2,2,0.1\n")
    pixels = np.column_stack([RNG.integers(0, 3, (30, 9)), Y])
    many = read(tmp_path, written(pd.DataFrame(pixels)))
    assert sorted(many.targets[:, 0].tolist()) == sorted(Y.tolist())


def test_a_first_row_of_words_and_numbers_is_asked_for(tmp_path):
    text = "a,0.5,u\n1,1.5,v\n2,2.5,u\n3,4.5,v\n"
    with pytest.raises(
        ValueError, match=r"names \('a' where .*\) or data \('0.5'\)\. Pass header=True or header=False"
    ):
        read(tmp_path, text)
    with pytest.raises(ValueError, match=r"names \('x' where .*\) or data \('u'\)\. Pass header"):
        read(tmp_path, "x,u\n1.5,v\n2.5,u\n3.5,v\n")  # 'u' is a class below
    assert len(read(tmp_path, text, header=True).train) == 3
    years = read(tmp_path, "name,2019,2020\n7,1.5,2.5\n8,1.25,3.5\n9,5,1.5\n")
    assert years.notes[0] == "the first row, name, 2019, 2020, counts the columns: it is read as their names"
    assert len(years.train) == 3


def column(tmp_path, cells, **options):
    """One column of cells as read, in order, and the notes; the target is the number of the row plus a half."""
    lines = [f'"{c}",{i}.5' for i, c in enumerate(cells)]
    data = read(tmp_path, "a,y\n" + "\n".join(lines) + "\n", **options)
    order = data.targets[:, 0].argsort()
    return data.inputs[order], tuple(note for note in data.notes[2:] if "pandas" not in note)


@pytest.mark.parametrize(
    ("cells", "values", "note"),
    [
        (["5%", "10 %", "-2.5%"], [0.05, 0.1, -0.025], "percentages are read as fractions"),
        (["1,100", "2,200", "12"], [1100, 2200, 12], "1,100 is read as 1100, with separated thousands"),
        (["1,100.5", "1,002,200", "12"], [1100.5, 1002200, 12], "separated thousands"),
        (["1 100", "2 200", "12"], [1100, 2200, 12], "separated thousands"),
        (["1'100.5", "2'200", "12"], [1100.5, 2200, 12], "separated thousands"),
        (["1 100", "2 200", "3 300"], [1100, 2200, 3300], "separated thousands"),
        (["$5", "-$1,000.50", "($7)"], [5, -1000.5, -7], "amounts in $ are read as numbers"),
        (["5 €", "6€", "7 €"], [5, 6, 7], "amounts in €"),
        (["USD 5", "USD 6", "7 USD"], [5, 6, 7], "amounts in USD"),
        (["1e3", "-2.5E-2", "+.5"], [1000, -0.025, 0.5], ""),
        (["−3", "4", "5"], [-3, 4, 5], ""),
        (["007", "012", "100"], [7, 12, 100], "leading zeros are dropped"),
        ([" 1 ", "2 ", " 3"], [1, 2, 3], ""),
        (["yes", "no", "YES"], [1, 0, 1], "truth values: no is 0, yes is 1"),
        (["TRUE", "FALSE", "TRUE"], [1, 0, 1], "truth values: false is 0, true is 1"),
        (["1e30", "2e30", "-3e30"], [1e30, 2e30, -3e30], ""),
        (["18446744073709551617", "3", "4"], [2.0**64, 3, 4], ""),
        (["9007199254740993", "9007199254740992", "3"], [2.0**53, 2.0**53, 3], "integers above 2^53"),
    ],
)
def test_numbers_in_other_dress(tmp_path, cells, values, note):
    found, notes = column(tmp_path, cells)
    assert found[:, 0].tolist() == pytest.approx(values, rel=1e-15)
    assert note in " ".join(notes)
    assert bool(notes) == bool(note)


@pytest.mark.parametrize("gap", ["", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "?", "-", "--", "#N/A", " "])
def test_gaps_are_filled_in_with_medians_and_counted(tmp_path, gap):
    found, notes = column(tmp_path, ["1", gap, "3", "9", gap])
    assert found[:, 0].tolist() == [1, 3, 3, 9, 3]
    assert notes == ("2 missing values in 2 of 5 rows and 1 of 1 features: filled in with training medians",)
    with pytest.raises(ValueError, match="2 of 5 rows hold NaN"):
        column(tmp_path, ["1", gap, "3", "9", gap], missing="refuse")
    if gap.strip() and gap != "None":
        found, notes = column(tmp_path, ["u", gap, "v", "u", "w"])
        assert found.tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
        assert notes == ("column 'a': 1 missing words are a category of their own",)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["2020-01-31", "2020-02-01", "2020-02-03"], "'a' of t.csv holds dates or times such as '2020-01-31'"),
        (["31/01/2020", "01/02/2020", ""], "holds dates"),
        (["31.01.2020", "01.02.2020", "03.02.2020"], "holds dates"),
        (["2020-01-31T12:00:00Z", "2020-01-31 13:00", "x"], "holds dates"),
        (["Jan 3, 2020", "5 February 2021", "Mar 2020"], "holds dates"),
        (["12:30", "13:45:10", "1:05 pm"], "holds dates or times"),
        (["5 kg", "6 kg", "7.5 kg"], "numbers with a unit, such as '5 kg'"),
        (["$5", "6 €", "7"], r"mixes \$, €"),
        (["5%", "6", "7%"], "mixes percentages and plain numbers"),
        (["5%", "$6", "7%"], r"mixes \$ and %"),
        (["1", "2", "x"], "holds numbers, but 'x' in data row 3"),
        (["1", "inf", "3"], "holds numbers, but 'inf' in data row 2"),
        (["1e400", "2", "3"], "holds 1e400, beyond the range of float64"),
        (["1,5", "2.5", "3"], "decimal point and numbers with a decimal comma"),
    ],
)
def test_columns_that_mean_nothing_certain_are_refused(tmp_path, cells, message):
    with pytest.raises(ValueError, match=message):
        column(tmp_path, cells)


def test_values_beyond_float32_are_refused_with_advice(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1e300,0.5\n2,1.5\n3,2.5\n")
    with pytest.raises(ValueError, match=r"hold 1e\+300, beyond the range of float32.*dtype=torch.float64"):
        load(tmp_path / "t.csv")


def test_commas_that_may_be_thousands_or_decimals(tmp_path):
    text = "a;y\n1,100;5\n2,200;7\n3,300;9\n"
    with pytest.raises(ValueError, match=r"'1,100' in t.csv may be 1100 or 1.100. Pass decimal='\.'"):
        read(tmp_path, text)
    assert sorted(read(tmp_path, text, decimal=",").inputs[:, 0].tolist()) == [1.1, 2.2, 3.3]
    assert sorted(read(tmp_path, text, decimal=".").inputs[:, 0].tolist()) == [1100, 2200, 3300]
    clear = read(tmp_path, "a;b;y\n1,100;2,5;5\n2,200;2,55;7\n3,300;1;9\n")  # another column settles it
    assert sorted(clear.inputs[:, 0].tolist()) == [1.1, 2.2, 3.3]
    points = read(tmp_path, "a;b;y\n1.100;2,5;5\n2.200;2,55;7\n3.300;1;9\n")  # points separate thousands there
    assert sorted(points.inputs[:, 0].tolist()) == [1100, 2200, 3300]
    with pytest.raises(ValueError, match="decimal must be"):
        read(tmp_path, text, decimal=";")


@pytest.mark.parametrize(
    ("cells", "task", "classes"),
    [
        (["0", "1"] * 10, "classification", ("0", "1")),
        (["0.0", "1.0"] * 10, "classification", ("0", "1")),
        (["1.0", "2.0", "3.0"] * 10, "classification", ("1", "2", "3")),
        (["yes", "no"] * 10, "classification", ("no", "yes")),
        (["Yes", "no", "yes", "No"] * 5, "classification", ("no", "yes")),
        (["TRUE", "FALSE"] * 10, "classification", ("FALSE", "TRUE")),
        ([" cat", "dog "] * 10, "classification", ("cat", "dog")),
        (["10", "9", "2"] * 10, "classification", ("2", "9", "10")),
        (["18446744073709551617", "18446744073709551618"] * 10, "classification", None),
        ([str(i % 20) for i in range(60)], "classification", None),
        ([str(i % 21) for i in range(60)], "regression", None),
        ([str(1000 + 17 * i) for i in range(60)], "regression", None),
        ([f"{i},100" for i in range(1, 30)], "regression", None),
        ([f"{i}%" for i in range(30)], "regression", None),
        ([f"${i}.50" for i in range(30)], "regression", None),
    ],
)
def test_what_a_target_is(tmp_path, cells, task, classes):
    text = "a,target\n" + "".join(f'{i}.5,"{c}"\n' for i, c in enumerate(cells))
    data = read(tmp_path, text)
    assert data.task == task
    assert classes in (None, data.classes)
    assert data.notes[0] == "target: the last column, 'target'"
    order = data.inputs[:, 0].argsort()
    if task == "regression":
        clean = [float(c.strip("$%").replace(",", "")) / (100 if "%" in c else 1) for c in cells]
        assert data.targets[order, 0].tolist() == pytest.approx(clean, rel=1e-15)
    else:
        names = [data.classes[i].lower() for i in data.train_labels[order].tolist()]
        assert names == [c.strip().lower().removesuffix(".0") for c in cells]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "t.csv is empty"),
        ("\n\n", {}, "t.csv is empty"),
        ("a,y\n", {}, "no rows of data"),
        ("a,y\n1,2\n", {}, "at least 2 training samples; got 1"),
        ("y\n1\n2\n", {}, "at least one input column"),
        ("a,b,y\n1,2,3\n4,5\n6,7,8\n", {}, "row 3 has 2 fields, most rows have 3"),
        ('a,y\n"1,2\n3,4\n', {}, "check the quotation marks"),
        ("a,y\n1,\n2,3\n", {}, "target column 'y' of t.csv has missing values in 1 of 2 rows"),
        ("a,y\n1,NA\n2,b\n3,a\n", {}, "missing values in 1 of 3 rows"),
        ("a,b,y\n1,2,3\n2,3,4\n", {"target": "z"}, "no column 'z' for the target; its columns are a, b, y"),
        ("price,b,y\n1,2,3\n2,3,4\n", {"target": "prise"}, "Did you mean 'price'"),
        ("a,b,y\n1,2,3\n2,3,4\n", {"target": 3}, "no column 3 for the target"),
        ("a,a,y\n1,2,3\n2,3,4\n", {"target": "a"}, "several columns 'a'; give the position"),
        ("a,y\n,\n,\n", {}, "no rows of data"),
        (b"a,y\n1,2\x00\n3,4\n", {}, "zero bytes"),
        (bytes(range(1, 256)) * 20, {}, "no text|cannot be read"),
        (b"\xff\xfea", {}, "no whole utf-16 text"),
        (gzip.compress(b"a,y\n1,2\n" * 99, mtime=0)[:-9], {}, "not a whole gzip file"),
        ("a,y\n1,5\n2,5\n3,5\n", {}, "one class"),
        ("a,y\n1,5.5\n2,5.5\n3,5.5\n", {}, "constant"),
        ("a,y\n" + "".join(f"{i},name {i}\n" for i in range(50)), {}, "50 different words in 50 rows"),
    ],
)
def test_tables_that_are_refused(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text, **options)


def test_what_is_told_of_the_rest(tmp_path):
    text = "id,a,a,flat,void,kind,y\n" + "".join(
        f"{i},{i * i},{i % 3},7,,{'Cat' if i % 2 else 'cat'},{i / 3:.4f}\n" for i in range(1, 9)
    )
    data = read(tmp_path, text + "8,64,2,7,,cat,2.6667\n" * 2)
    assert data.notes == (
        "columns with the same name are told apart: a (2)",
        "target: the last column, 'y'",
        "input columns: id, a, a (2), flat, kind=Cat, kind=cat",
        "columns without any value are left out: void",
        "column 'kind': words that differ only in case are kept apart, such as Cat, cat",
        "input columns that never change: flat",
        "2 of 10 rows repeat an earlier row; they may fall on both sides of the split",
    )
    counted = read(tmp_path, text)
    assert counted.notes[3] == "column 'id' numbers the rows and is left out (keep=['id'] keeps it)"
    assert counted.input_shape == (5,)
    assert read(tmp_path, "id,y\n1,0.5\n2,0.7\n3,0.8\n").input_shape == (1,)  # nothing else to learn from
    named = read(tmp_path, "a b y\nr1 1 2 0.5\nr2 1 3 0.7\nr3 2 3 0.8\n", "t.txt")
    assert named.notes[-1] == "column 'row names' numbers the rows and is left out"
    latin = read(tmp_path, "naïve,y\n1,café\n2,tea\n".encode("latin-1"))
    assert latin.classes == ("café", "tea")
    assert latin.notes[0] == "the text is not UTF-8; it is read as Latin-1"
    quoted = read(tmp_path, 'a,y\n"u\nv",1.5\n"w ""x""",2.5\n')
    assert quoted.notes[1] == 'input columns: a=u\nv, a=w "x"'


def test_the_target_by_name_and_place(tmp_path):
    text = written()
    for target in ("a", 0, -3, " a "):
        data = read(tmp_path, text, target=target)
        assert sorted(data.targets[:, 0].tolist()) == sorted(X[:, 0].tolist())
        assert data.notes[0] == "target: column 'a'"


@pytest.mark.parametrize("cell", [hex, lambda i: f"{i}-{i + 10}", lambda i: f"name {i}"])
def test_a_column_with_another_word_in_every_row_is_refused(tmp_path, cell):
    """Numbers in a notation that is not known became as many one-hot columns as rows."""
    file = tmp_path / "t.csv"
    file.write_text("a,b,y\n" + "\n".join(f"{cell(i)},{i % 7},{i / 3:.3f}" for i in range(40)))
    with pytest.raises(ValueError, match="column 'a' of t.csv has another word in every row"):
        load(file)
    file.write_text("a,b,y\n" + "\n".join(f"{cell(i % 20)},{i % 7},{i / 3:.3f}" for i in range(40)))
    assert load(file).input_shape == (21,)  # the control: words that come again


def test_a_target_that_is_named_and_not_last_is_asked_for(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,label,b\n" + "\n".join(f"{i / 7:.2f},{i % 2},{i % 5}" for i in range(40)))
    with pytest.raises(ValueError, match="may be the last column, 'b', or 'label' by its name"):
        load(file)
    assert load(file, target="label").task == "classification"
    assert "target: column 'b'" in load(file, target="b").notes


@pytest.mark.parametrize("odd, fitting", [(";", ","), (",", ";"), ("|", "\t"), ("\t", "|")])
def test_rows_of_several_lengths_are_split_by_the_separator_that_fits_most_of_them(odd, fitting):
    """``fitting`` makes three fields of all rows but one; ``odd`` makes two of most and three of the others."""
    lines = [f"1{fitting}{i}{odd}5{fitting}2" + (f"{odd}9" if i % 3 == 0 else "") for i in range(30)]
    lines[7] += f"{fitting}7"
    assert find_separator("\n".join(lines), "t.csv") == fitting


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "a,b,y\n1,x,0.5\n?,y,1.5\n3,z,2.5\n",
            "'a' is numbers here and words there, and has 1 missing cell here and 0 there",
        ),
        ("a,b,y\n1,None,0.5\n2,u,1.5\n3,v,2.5\n", "'b' has 0 missing cells here and 1 there"),
        ("a,b,y\n$1,3,0.5\n$2,4,1.5\n$5,6,2.5\n", "'a' is numbers here and words there"),
        (
            "a,b,y\n1,2,0.5,\n2,3,1.5,\n4,5,2.5,\n",
            "'y' has 0 missing cells here and 3 there",
        ),  # pandas shifts the columns
        ("a,b,y\n1,2,0.5\n2,NA,1.5\n4,5,2.5\n", None),
        ("a;b;y\n1,5;2;0,5\n2,5;3;1,5\n4;5;2,5\n", None),
        ("1,2,0.5\n2,7,1.5\n4,5,2.5\n", None),
    ],
)
def test_what_pandas_reads_otherwise_is_told(tmp_path, text, told):
    found = [note for note in read(tmp_path, text).notes if "pandas" in note]
    assert found == ([] if told is None else [f"read otherwise by pandas' defaults: {told}"])


@pytest.mark.parametrize("header", [",,,goal", "NA,nan,null,goal"])
def test_a_first_row_of_gaps_above_numbers_and_a_name_above_words_is_a_row_of_names(tmp_path, header):
    body = "".join(f"{a},{b},{i % 3},{'uv'[i % 2]}\n" for i, (a, b) in enumerate(X))
    data = read(tmp_path, header + "\n" + body)
    assert data.classes == ("u", "v")
    assert len(data.train) == 30
    assert "target: the last column, 'goal'" in data.notes
    again = read(tmp_path, header.replace("goal", "u") + "\n" + body)  # a class below: no name, and no sample
    assert len(again.train) == 30
    assert any("1 of 31 rows holds no input and is left out" in note for note in again.notes)


@pytest.mark.parametrize("word", ["missing", "undefined", "(null)", ".", "-1.#IND", "NaT", "#N/A"])
def test_words_for_missing_are_no_classes(tmp_path, word):
    rows = [f"{a},{'uv'[i % 2]}" for i, (a, _) in enumerate(X)]
    with pytest.raises(ValueError, match=r"target column 'y' of t.csv has missing values in 1 of 30 rows"):
        read(tmp_path, "a,y\n" + "\n".join([*rows[:-1], f"1.5,{word}"]) + "\n")
    with pytest.raises(ValueError, match="targets hold 1 missing values"):
        from_arrays(X[:4], ["u", "v", word, "u"])
    kept = read(tmp_path, "a,y\n" + "\n".join([*rows[:-1], "1.5,none"]) + "\n")  # may be a class
    assert kept.classes == ("none", "u", "v")


def test_a_row_of_totals_is_left_out_of_a_file_and_of_a_frame(tmp_path):
    data = read(tmp_path, "a,b,y\n1,5,0.5\n2,7,1.5\n4,6,1305.5\n,,1305.00\n")
    assert sorted(data.targets[:, 0].tolist()) == [0.5, 1.5, 1305.5]
    assert any("such as data row 4 (y 1305" in note for note in data.notes)
