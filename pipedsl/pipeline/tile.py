"""Two-dimensional tiles in LDS whose columns do not all meet the same banks."""

from __future__ import annotations

from typing import Any

from pipedsl.target import gpu


class SharedTile:
    """A tile of ``rows x columns`` elements in LDS, padded or swizzled.

    Lanes that read the same columns of consecutive rows would meet the same banks where a row is a
    multiple of the banks' width. `padding` elements behind each row shift the rows against each
    other. A swizzle needs no space: 16-byte chunks change places within their row, by an XOR of
    their number with that of the row.

    Parameters
    ----------
    rows, columns : int
        Compile-time constants, as all parameters. With a swizzle, a row is a power of two of
        chunks.
    dtype : NumPy scalar type or dtype
    padding : int
        Elements.
    swizzle : bool

    Examples
    --------
    ::

        tile = SharedTile(64, 64, np.float16, swizzle=True)
        tile.store(row, 8 * chunk, vector_of_8)
        values = tile.load(lane % 16, 8 * (lane // 16), 8)
    """

    def __init__(
        self, rows: int, columns: int, dtype: Any, padding: int = 0, swizzle: bool = False
    ) -> None:
        chunk = 16 // gpu.size_of(dtype)
        chunks = columns // chunk
        if swizzle:
            problem = "a row of {} elements cannot be swizzled."
            fix = "use a power of two of 16-byte chunks, or padding."
            gpu.static_check(chunks * chunk == columns, problem, fix, columns)
            gpu.static_check(chunks & (chunks - 1) == 0, problem, fix, columns)
            gpu.static_check(
                padding == 0, "a tile is padded or swizzled.", "choose one of the two."
            )
        self.rows = rows
        self.columns = columns
        self.pitch = columns + padding
        self.chunk = chunk
        self.chunks = chunks
        self.swizzle = swizzle
        self.data = gpu.shared.array(rows * (columns + padding), dtype)

    def index(self, row: int, column: int) -> int:
        """Where an element is in `data`; elements of one 16-byte chunk follow each other."""
        if self.swizzle:
            # Rows that together span all banks may share a permutation.
            shared = max(1, 8 // self.chunks)
            pattern = row // shared % min(8, self.chunks)
            chunk = column // self.chunk ^ pattern
            return row * self.pitch + chunk * self.chunk + column % self.chunk
        return row * self.pitch + column

    def get(self, row: int, column: int) -> Any:
        """One element."""
        return self.data[self.index(row, column)]

    def put(self, row: int, column: int, value: Any) -> None:
        """Set one element."""
        self.data[self.index(row, column)] = value

    def load(self, row: int, column: int, count: int) -> Any:
        """`count` elements of a row as a vector, within one 16-byte chunk where swizzled."""
        return gpu.load(self.data, self.index(row, column), count)

    def store(self, row: int, column: int, values: Any) -> None:
        """Store a vector to a row, within one 16-byte chunk where swizzled."""
        gpu.store(self.data, self.index(row, column), values)
