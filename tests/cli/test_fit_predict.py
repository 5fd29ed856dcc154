"""``priorscope fit`` and ``predict``: other orders, other columns, gaps, strange words, and one line for every mistake."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import priorscope as ps
from priorscope.cli import main
from priorscope.data.formats._registry import forget_format


def told(capsys, *words):
    """Exit code, what was printed, and the lines of the error."""
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    shown = capsys.readouterr()
    return end.value.code, shown.out, shown.err


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(
        {
            "id": range(1, n + 1),
            "size": rng.normal(size=n).round(3),
            "colour": rng.choice(["red", "green", "blue"], n),
            "code": rng.choice(["007", "x", "z"], n),
        }
    )
    frame["y"] = np.where((frame["size"] > 0) & (frame["colour"] != "blue"), "buy", "wait")
    frame["price"] = 3 * frame["size"] + 2 * (frame["colour"] == "red")
    return frame


@pytest.fixture
def model(table, tmp_path, capsys):
    table.drop(columns="price").to_csv(tmp_path / "a.csv", index=False)
    code, out, _ = told(
        capsys, "fit", tmp_path / "a.csv", "--target", "y", "--out", tmp_path / "m.npz", "--arch", "fcn-2"
    )
    assert code == 0, out
    assert "column 'id' numbers the rows and is left out" in out
    assert "% wrong when left out, 90 samples" in out
    return tmp_path / "m.npz"


def test_predictions_are_those_of_python_in_any_order(model, table, tmp_path, capsys):
    shuffled = table[["code", "price", "size", "colour"]].rename(columns={"price": "extra"})
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = told(capsys, "predict", model, tmp_path / "new.csv", "--proba")
    assert code == 0, err
    got = pd.read_csv(io.StringIO(out))
    X = table[["size", "colour", "code"]]
    want = ps.KernelMachine("fcn-2").fit(X, table["y"])
    assert got["prediction"].tolist() == want.predict(X).tolist()
    np.testing.assert_allclose(got[["p(buy)", "p(wait)"]], want.predict_proba(X), atol=1e-9)
    assert "does not know are left out: extra" in err


def test_codes_that_look_like_numbers_stay_words(model, table, tmp_path, capsys):
    rows = table[table["code"] == "007"].drop(columns=["price", "y"])
    rows.to_csv(tmp_path / "new.csv", index=False)  # the column 'code' now holds 007 only
    _, out, _ = told(capsys, "predict", model, tmp_path / "new.csv", "--proba")
    X = table[["size", "colour", "code"]]
    want = ps.KernelMachine("fcn-2").fit(X, table["y"]).predict_proba(X[table["code"] == "007"])
    np.testing.assert_allclose(pd.read_csv(io.StringIO(out))[["p(buy)", "p(wait)"]], want, atol=1e-9)


def test_a_table_of_numbers_in_another_order(tmp_path, capsys):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame["y"] = 5 * frame["a"] - frame["c"]
    frame.to_csv(tmp_path / "n.csv", index=False)
    frame[["c", "b", "a"]].to_csv(tmp_path / "m.csv", index=False)
    told(capsys, "fit", tmp_path / "n.csv", "--out", tmp_path / "n.npz", "--arch", "fcn-1")
    code, out, err = told(capsys, "predict", tmp_path / "n.npz", tmp_path / "m.csv")
    assert code == 0, err
    want = ps.KernelMachine("fcn-1").fit(frame[["a", "b", "c"]], frame["y"]).predict(frame[["a", "b", "c"]])
    np.testing.assert_allclose(pd.read_csv(io.StringIO(out))["prediction"], want, rtol=1e-6, atol=1e-6)


def test_gaps_strange_words_and_the_target(model, table, tmp_path, capsys):
    rows = table.drop(columns="price").head(10).copy()
    rows.loc[2, "colour"], rows.loc[3, "size"] = "purple", np.nan
    rows.to_csv(tmp_path / "new.csv", index=False)
    code, _, err = told(capsys, "predict", model, tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    assert code == 0
    assert "1 missing value: numbers get the training median" in err
    assert "column 'colour': 1 of 10 rows hold words no training row had, such as 'purple'" in err
    assert "the file has the target: right" in err
    assert len(pd.read_csv(tmp_path / "p.csv")) == 10


def test_numbers_with_intervals(table, tmp_path, capsys):
    table.drop(columns=["y"]).to_csv(tmp_path / "b.csv", index=False)
    assert told(capsys, "fit", tmp_path / "b.csv", "--out", tmp_path / "r.npz", "--arch", "fcn-1")[0] == 0
    _, out, err = told(capsys, "predict", tmp_path / "r.npz", tmp_path / "b.csv", "--interval", "0.9")
    got = pd.read_csv(io.StringIO(out))
    assert (got["low"] < got["prediction"]).all()
    assert (got["prediction"] < got["high"]).all()
    assert ((got["low"] <= table["price"]) & (table["price"] <= got["high"])).mean() > 0.85
    assert "the file has the target: R² " in err


def test_images_of_an_archive(tmp_path, capsys):
    digits = ps.data.digits().subset(40)
    np.savez(tmp_path / "d.npz", x=digits.inputs.numpy(), y=digits.train_labels.numpy())
    assert told(capsys, "fit", tmp_path / "d.npz", "--out", tmp_path / "m.npz", "--arch", "vec-1")[0] == 0
    _, out, err = told(capsys, "predict", tmp_path / "m.npz", tmp_path / "d.npz")
    got = pd.read_csv(io.StringIO(out))["prediction"].astype(int)
    assert (got == digits.train_labels.numpy()).mean() > 0.9, err


def test_mistakes_end_in_one_line(model, table, tmp_path, capsys):
    def refused(words, *arguments):
        code, out, err = told(capsys, *arguments)
        assert code == 2
        assert len(err.strip().splitlines()) == 1, err
        assert words in err
        assert not out

    table[["size", "code"]].to_csv(tmp_path / "lack.csv", index=False)
    refused("lack.csv lacks 'colour'; the machine needs size, colour, code", "predict", model, tmp_path / "lack.csv")
    table.assign(size="big").to_csv(tmp_path / "bad.csv", index=False)
    refused("column 'size' held numbers when", "predict", model, tmp_path / "bad.csv")
    refused("no file or folder", "predict", model, tmp_path / "nowhere.csv")
    refused("no file", "predict", tmp_path / "nowhere.npz", tmp_path / "bad.csv")
    refused(
        "is not a saved kernel machine: it is no .npz archive", "predict", tmp_path / "bad.csv", tmp_path / "bad.csv"
    )
    refused("--interval is for numbers", "predict", model, tmp_path / "bad.csv", "--interval", "0.9")
    refused("Did you mean 'colour'?", "fit", tmp_path / "a.csv", "--target", "color", "--out", tmp_path / "x.npz")
    refused("--out must end in .npz", "fit", tmp_path / "a.csv", "--out", tmp_path / "x.csv")
    gaps = table.drop(columns="price").astype({"y": object})
    gaps.loc[4, "y"] = None
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    refused(
        "missing values in 1 of 90 rows (first in data row 5)",
        "fit",
        tmp_path / "gaps.csv",
        "--out",
        tmp_path / "x.npz",
    )


def test_learnt_features_go_into_the_file_without_pickle_and_name_their_columns(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(130, 5)).round(4), columns=list("abcde"))
    frame["kind"] = rng.choice(["x", "z"], 130)
    frame["y"] = np.sin(3 * frame["c"])
    frame[:100].to_csv(tmp_path / "a.csv", index=False)
    frame[100:].to_csv(tmp_path / "new.csv", index=False)
    options = ("--target", "y", "--arch", "laplace", "--out", tmp_path / "m.npz")
    code, out, err = told(capsys, "fit", tmp_path / "a.csv", *options, "--features", "learn")
    assert code == 0, err
    assert "laplace + features" in out
    assert "columns that count most: c (" in out
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        assert file["moment"].shape == (7, 7)  # five numbers and two words
    code, out, err = told(capsys, "predict", tmp_path / "m.npz", tmp_path / "new.csv")
    assert code == 0, err
    want = ps.KernelMachine("laplace", features="learn").fit(frame[:100].drop(columns="y"), frame["y"][:100])
    got = pd.read_csv(io.StringIO(out))["prediction"]
    np.testing.assert_allclose(got, want.predict(frame[100:].drop(columns="y")), rtol=1e-6)
    plain = ps.KernelMachine("laplace").fit(frame[:100].drop(columns="y"), frame["y"][:100])
    assert not np.allclose(got, plain.predict(frame[100:].drop(columns="y")), rtol=1e-2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--features", "yes"), "needs features of 'learn', None; got 'yes'"),
        (("--features", "learn", "--arch", "fcn-1/sign"), "can be differentiated and mapped; fcn-1/sign cannot"),
        (("--features", "learn", "--head", "svm"), "goes with head='regression'"),
    ],
)
def test_features_that_cannot_be_learnt_are_refused_in_one_line(words, said, table, tmp_path, capsys):
    table[["size", "y"]].to_csv(tmp_path / "a.csv", index=False)
    code, _, err = told(capsys, "fit", tmp_path / "a.csv", "--target", "y", "--out", tmp_path / "m.npz", *words)
    assert code == 2
    assert said in err
    assert "Traceback" not in err
    assert not (tmp_path / "m.npz").exists()


def test_images_whose_kernel_is_averaged_over_flips_have_no_columns_to_name(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1, 4, 4))
    np.savez(tmp_path / "a.npz", X=X, y=np.where(X[:, 0, :, 0].sum(1) + X[:, 0, :, -1].sum(1) > 0, 1, 0))
    code, out, err = told(
        capsys,
        "fit",
        tmp_path / "a.npz",
        "--out",
        tmp_path / "m.npz",
        "--features",
        "learn",
        "--task",
        "classification",
    )
    assert code == 0, err
    assert "features" in out


@pytest.fixture
def json_lines():
    """A registered reader of JSON lines whose columns stand as in the file."""

    def read(path, options):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        target = options.target or "y"
        names = [name for name in rows[0] if name != target]
        y = [r[target] for r in rows] if target in rows[0] else None
        return ps.data.Contents([[r[name] for name in names] for r in rows], y, columns=tuple(names))

    ps.data.register_format(ps.data.Format("json rows", ".jrows", read, suffixes=(".jrows",)))
    yield
    forget_format("json rows")


@pytest.mark.parametrize("with_target", [True, False])
def test_columns_of_any_format_are_found_by_name(with_target, json_lines, tmp_path, capsys):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(60, 3)).round(3), columns=["a", "b", "c"])
    frame["y"] = 5 * frame["a"] - frame["c"]
    frame.to_json(tmp_path / "n.jrows", orient="records", lines=True)
    order = ["c", *(["y"] if with_target else []), "a", "b"]
    frame[order].to_json(tmp_path / "m.jrows", orient="records", lines=True)
    frame[order].to_csv(tmp_path / "m.csv", index=False)
    code, _, err = told(capsys, "fit", tmp_path / "n.jrows", "--out", tmp_path / "n.npz", "--arch", "fcn-1")
    assert code == 0, err
    want = ps.KernelMachine("fcn-1").fit(frame[["a", "b", "c"]], frame["y"]).predict(frame[["a", "b", "c"]])
    for file in ("m.jrows", "m.csv"):  # a machine goes by names, whatever format they come in
        code, out, err = told(capsys, "predict", tmp_path / "n.npz", tmp_path / file)
        assert code == 0, err
        np.testing.assert_allclose(pd.read_csv(io.StringIO(out))["prediction"], want, rtol=1e-6, atol=1e-6)
        assert ("R²" in err) == with_target
    rows = frame[["a", "b", "c"]].to_numpy()
    wrong = ps.KernelMachine("fcn-1").fit(rows, frame["y"]).predict(rows[:, [2, 0, 1]])
    assert np.abs(wrong - want).max() > 1  # and the order matters


def test_class_names_are_no_formulas_in_a_spreadsheet(tmp_path, capsys):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=40).round(3)})
    frame["y"] = np.where(frame["a"] > 0, "=cmd|' /C calc'!A0", np.where(frame["a"] > -0.5, "-1", "plain"))
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert told(capsys, "fit", tmp_path / "a.csv", "--out", tmp_path / "m.npz", "--arch", "fcn-1")[0] == 0
    _, out, err = told(capsys, "predict", tmp_path / "m.npz", tmp_path / "a.csv", "--proba")
    got = pd.read_csv(io.StringIO(out), dtype=str)
    assert set(got["prediction"]) == {"'=cmd|' /C calc'!A0", "-1", "plain"}
    assert "that a spreadsheet would run as formulas stand behind an apostrophe" in err
    assert not any(cell[0] in "=@" for cell in out.replace("\n", ",").split(",") if cell)
