"""What the embedded emulator answers at all: a local service needs no password, so it must know its callers.

Any web page a person opens can make their browser send requests to 127.0.0.1. Of a browser only those requests are
answered that carry a signature, or the form of a presigned POST, or ask whether they may be sent (OPTIONS). The Host
must be this machine's own name, so that a foreign name which was pointed at 127.0.0.1 gets nothing. The emulator's own
control routes (one of them empties everything) are shut for all.
"""

from service.local.exchange import Reply, Scope, header

CONTROL = ("/_ministack", "/_localstack", "/_aws", "/iceberg", "/_tiptrace")


def refusal(scope: Scope) -> Reply | None:
    """The answer to a request that must not reach the emulator, or None if it may pass."""
    headers = scope["headers"]
    host = header(headers, b"host").rpartition(b":")[0] or header(headers, b"host")
    if host not in (b"127.0.0.1", b"localhost"):
        return _forbidden("This is a local service of another name.")
    if scope["path"].startswith(CONTROL):
        return _forbidden("There is nothing here.")
    from_browser = header(headers, b"origin") or header(headers, b"sec-fetch-mode")
    if from_browser and not _signed_for_browsers(scope):
        return _forbidden("A browser may come here only with a signed address.")
    return None


def _signed_for_browsers(scope: Scope) -> bool:
    if scope["method"] == "OPTIONS" or b"X-Amz-Signature=" in scope["query_string"]:
        return True
    content_type = header(scope["headers"], b"content-type")
    return scope["method"] == "POST" and content_type.startswith(b"multipart/form-data")


def _forbidden(sentence: str) -> Reply:
    body = sentence.encode("utf-8")
    return Reply(403, [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())], body)
