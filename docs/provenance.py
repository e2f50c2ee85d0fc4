"""A table of where every file of results comes from, and of what it holds."""

import hashlib
from collections.abc import Iterable, Iterator

from docs.evidence import Json, Results
from docs.shared import markdown

HEADS = ("file", "results", "commits", "latest date", "machine", "JAX", "headers", "SHA-256")


def tables(results: Results) -> dict[str, Iterable[str]]:
    return {"provenance": markdown(HEADS, _rows(results))}


def _rows(results: Results) -> Iterator[list[str]]:
    for path in sorted(results.folder.glob("*.json")):
        headers = [record["header"] for record in results.records(path.stem).values()]
        measured = [header for header in headers if "reported" not in header]
        cells = _cells(measured) if measured else ["", "", "", "", "reported by others"]
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        yield [f"`{path.name}`", str(len(headers)), *cells, f"`{digest[:12]}`"]


def _cells(headers: list[Json]) -> Iterator[str]:
    yield _several(_commit(header) for header in headers)
    yield max(header["date"] for header in headers).partition("T")[0]
    yield _several(f"{h['machine']['cpu']}, {h['machine']['cores']} cores" for h in headers)
    yield _several(header["versions"].get("jax", "not kept") for header in headers)
    yield _several("reconstructed" if "reconstructed" in h else "kept" for h in headers)


def _commit(header: Json) -> str:
    """Its beginning, and whether the code differed from it."""
    known = (header["commit"] or "unknown")[:7]
    return f"`{known}`{' and changes' if header['changed'] else ''}"


def _several(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))
