"""The molecules of G2 from files of the same form written here; energies by hand; files that are damaged or absent."""

import pytest

import priorscope as ps

ATOMS = """
from nowhere import nothing
raise SystemExit
data = {
    'H': {'enthalpy': 51.63, 'positions': [[0.0, 0.0, 0.0]], 'symbols': 'H', 'thermal correction': 1.01},
    'O': {'enthalpy': 58.99, 'positions': [[0.0, 0.0, 0.0]], 'symbols': 'O', 'thermal correction': 1.04},
    'Na': {'enthalpy': 25.69, 'positions': [[0.0, 0.0, 0.0]], 'symbols': 'Na', 'thermal correction': 1.54},
    'water': {'ZPE': 13.0, 'enthalpy': -58.0, 'positions': [[0.0, 0.0, 0.1], [0.0, 0.8, -0.5], [0.0, -0.8, -0.5]],
              'symbols': 'OHH', 'thermal correction': 2.5}}
"""
MOLECULES = """
data = {
    'hydrogen': {'ZPE': 6.0, 'enthalpy': 0.0, 'positions': [[0.0, 0.0, 0.37], [0.0, 0.0, -0.37]], 'symbols': 'H2',
                 'thermal correction': 2.0},
    'salt': {'ZPE': 1.0, 'enthalpy': 0, 'positions': [[0.0, 0.0, 0.0], [0.0, 0.0, 1.9]], 'symbols': 'NaH',
             'thermal correction': 2.0}}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "g2_1.py").write_text(ATOMS)
    (tmp_path / "g2_2.py").write_text(MOLECULES)
    return tmp_path


def test_energies_by_hand_and_nothing_is_run(folder):
    found = {m.name: m for m in ps.data.g2(folder=folder)}
    assert set(found) == {"water", "hydrogen"}  # neither atoms nor sodium
    assert found["water"].charges.tolist() == [8, 1, 1]
    assert found["water"].positions[2].tolist() == [0.0, -0.8, -0.5]
    assert abs(found["water"].energy - (2 * (51.63 - 1.01) + 58.99 - 1.04 + 58.0 + 2.5 + 13.0)) < 1e-9
    assert abs(found["hydrogen"].energy - (2 * 50.62 + 2.0 + 6.0)) < 1e-9
    assert [m.name for m in ps.data.g2(("H", "Na"), folder=folder)] == ["hydrogen", "salt"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("'H2'", "'H3'", "hydrogen has 2 positions for HHH"),
        ("'H2'", "'HXe'", "not known as atoms: .*Xe"),
        ("'ZPE': 6.0", "'ZPE': None", "hydrogen has no number for 'ZPE'; got None"),
        ("data = ", "other = ", "assigns no dictionary to the name data"),
        ("'positions': [[0.0, 0.0, 0.37], [0.0, 0.0, -0.37]]", "'places': 0", "hydrogen has no list of positions"),
        ("{'ZPE': 6.0", "{'ZPE': open('x').read()", "malformed node"),
    ],
)
def test_damaged_files_are_refused(folder, old, new, message):
    assert old in MOLECULES
    (folder / "g2_2.py").write_text(MOLECULES.replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        ps.data.g2(folder=folder)


def test_messages(folder):
    with pytest.raises(ValueError, match=r"elements may name H, Li.*got \['Xx'\]"):
        ps.data.g2(("Xx",), folder=folder)
    (folder / "g2_2.py").unlink()
    with pytest.raises(FileNotFoundError, match=r"no file g2_2.py"):
        ps.data.g2(folder=folder)


def test_the_cache_serves_it_without_a_network(folder, monkeypatch):
    from priorscope.data.published import cached

    monkeypatch.setenv("PRIORSCOPE_CACHE", str(folder.parent))
    assert not cached("g2")
    folder.rename(folder.parent / "g2")
    assert cached("g2")
    assert ps.data.get("g2") == folder.parent / "g2"
    assert len(ps.data.g2()) == 2


def test_an_atom_needs_an_entry_and_a_charge():
    from priorscope.data.published._g2 import _molecule

    atom = {"symbols": "H", "positions": [[0.0, 0.0, 0.0]], "enthalpy": 1.0, "thermal correction": 0.0, "ZPE": 0.0}
    pair = {**atom, "symbols": "HX", "positions": [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]}
    with pytest.raises(ValueError, match=r"not known as atoms: \['X'\]"):
        _molecule("an entry without a charge", pair, {"H": atom, "X": atom})
    with pytest.raises(ValueError, match=r"not known as atoms: \['He'\]"):
        _molecule("a charge without an entry", {**pair, "symbols": "HHe"}, {"H": atom})
