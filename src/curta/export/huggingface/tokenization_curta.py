"""The tokenizer of `tokenizer.json` with errors that name unknown text: travels with a model."""

from collections.abc import Iterator
from typing import Any

from transformers import PreTrainedTokenizerFast


class CurtaTokenizer(PreTrainedTokenizerFast):
    """A token is a character, or a line of a program; any other text raises ValueError.

    So does a problem that is not written as the model takes it.
    """

    def _encode_plus(self, text: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return super()._encode_plus(text, *arguments, **options)
        except Exception as error:  # the library's own error has no class, and names nothing
            for piece in self._pieces(text):
                if piece not in self.get_vocab():
                    raise ValueError(self._unknown(piece)) from error
            normalizer = self.backend_tokenizer.normalizer  # which spoils what is no prompt
            for each in [text] if isinstance(text, str) else text:
                checked = normalizer and isinstance(each, str)
                if checked and normalizer.normalize_str(each) != each:
                    taken = self.init_kwargs["taken"]
                    raise ValueError(f"{taken} (got {each[:40]!r})") from error
            raise

    def _pieces(self, text: Any) -> Iterator[str]:
        """Yield what is looked up in the vocabulary, for one text or several."""
        if not isinstance(text, str):
            for part in text:
                yield from self._pieces(part)
        else:
            splits = self.backend_tokenizer.pre_tokenizer.pre_tokenize_str(text)
            yield from (piece for piece, _ in splits)

    def _unknown(self, piece: str) -> str:
        """Return an error message that names an unknown piece of text."""
        tokens = sorted(self.get_vocab(), key=self.get_vocab().__getitem__)
        if all(len(token) == 1 for token in tokens):
            return f"{piece!r} is no character of this model: it knows {''.join(tokens)}"
        return f"{piece!r} is no token of this model: it knows {len(tokens)}, such as {tokens[0]!r}"
