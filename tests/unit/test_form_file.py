"""The file of a form, however its bytes are split on the way."""

from __future__ import annotations

import pytest

from service.local.form_file import FileForm, WrongForm

KIND = "multipart/form-data; boundary=edge"
FILE = b"\r\n--edg\r\n\r\nbytes\x00"


def body(file: bytes = FILE, after: bytes = b"") -> bytes:
    field = b'--edge\r\nContent-Disposition: form-data; name="key"\r\n\r\nuploads/m\r\n'
    head = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="movie"\r\nContent-Type: video/mp4\r\n\r\n'
    return field + head + file + b"\r\n--edge" + after + b"--\r\n"


def cut_out(whole: bytes, length: int, pieces: int, kind: str = KIND) -> bytes:
    taken: list[bytes] = []
    form = FileForm(kind, length, taken.append)
    for start in range(0, len(whole), pieces):
        form.feed(whole[start : start + pieces])
    form.end()
    return b"".join(taken)


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 64, 100_000])
@pytest.mark.parametrize("file", [FILE, b"", b"x" * 300])
def test_the_file_arrives_whole_however_the_body_is_split(file: bytes, pieces: int) -> None:
    assert cut_out(body(file), len(file), pieces) == file


@pytest.mark.parametrize("pieces", [1, 5, 100_000])
@pytest.mark.parametrize(
    ("whole", "length"),
    [
        (body(), len(FILE) - 1), (body(), len(FILE) + 1), (body()[:-6], len(FILE)), (body()[:90], len(FILE)),
        (b"--edge--\r\n", 0), (b"", 0), (b"x" * 70_000, 10),
        (body(after=b"\r\nContent-Disposition: x\r\n\r\ny"), len(FILE)),
    ],
)  # fmt: skip
def test_a_form_of_another_length_or_shape_is_refused(whole: bytes, length: int, pieces: int) -> None:
    with pytest.raises(WrongForm):
        cut_out(whole, length, pieces)


@pytest.mark.parametrize("kind", ["", "text/plain", "multipart/form-data", "multipart/form-data; boundary="])
def test_what_is_no_form_is_refused_at_once(kind: str) -> None:
    with pytest.raises(WrongForm):
        cut_out(body(), len(FILE), 100, kind)
