"""Files written for one test, and what is read from them or refused."""

import pytest

from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read


@pytest.fixture
def save(tmp_path):
    """Write text whose rows are separated by blanks or line ends."""

    def save(text, name="a.csv"):
        path = tmp_path / name
        path.write_text("\n".join(text.split()) + "\n")
        return path

    return save


@pytest.fixture
def load():
    return lambda path, **options: read([path], ReadOptions(**options))


@pytest.fixture
def refused(load):
    def refused(path, **options):
        with pytest.raises(InputError) as caught:
            load(path, **options)
        return str(caught.value)

    return refused
