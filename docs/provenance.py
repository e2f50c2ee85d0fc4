"""A table of where every file of results comes from."""

from collections.abc import Iterable, Iterator

from docs.evidence import Json, Results
from docs.shared import markdown

HEADS = ("file", "results", "commits", "date of the last", "machine", "JAX", "headers")


def tables(results: Results) -> dict[str, Iterable[str]]:
    return {"provenance": markdown(HEADS, _rows(results))}


def _rows(results: Results) -> Iterator[list[str]]:
    for path in sorted(results.folder.glob("*.json")):
        headers = [record["header"] for record in results.records(path.stem).values()]
        measured = [header for header in headers if "reported" not in header]
        if measured:
            yield [f"`{path.name}`", str(len(measured)), *_cells(measured)]


def _cells(headers: list[Json]) -> Iterator[str]:
    yield _several(_commit(header) for header in headers)
    yield max(header["date"] for header in headers).partition("T")[0]
    yield _several(f"{h['machine']['cpu']}, {h['machine']['cores']} cores" for h in headers)
    yield _several(header["versions"].get("jax", "not kept") for header in headers)
    yield _several("reconstructed" if "reconstructed" in h else "kept" for h in headers)


def _commit(header: Json) -> str:
    """Its beginning, and whether the code differed from it."""
    return f"{header['commit'][:7]}{' and changes' if header['changed'] else ''}"


def _several(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))
