"""The programs of the Python peers.

Each one prints the seconds of its work to standard error. They begin after the imports, and include the reading of the
file and the writing of the output."""

# The expression writes to `out`. `q` reads every cell as text, `i` reads only the amounts as numbers, and `t` finds
# types that fit all rows. F and G are the two files.
POLARS = """
import sys, time, polars as pl
F, G = sys.argv[1], sys.argv[2]
start = time.perf_counter()
q = lambda f: pl.scan_csv(f, infer_schema=False)
i = lambda f: pl.scan_csv(f, infer_schema=False).with_columns(pl.col('amount').cast(pl.Float64))
t = lambda f: pl.scan_csv(f, infer_schema_length=None)
out = sys.stdout.buffer
EXPRESSION
out.flush()
print('seconds', time.perf_counter() - start, file=sys.stderr)
"""

DUCKDB = """
import sys, time, duckdb
start = time.perf_counter()
c = duckdb.connect()
c.execute('set enable_progress_bar=false')
c.execute(sys.argv[1])
print('seconds', time.perf_counter() - start, file=sys.stderr)
"""

# pyarrow is needed only to write what DuckDB read.
DUCKDB_ARROW = """
import sys, time, duckdb, pyarrow
start = time.perf_counter()
reader = duckdb.connect().sql(sys.argv[1]).to_arrow_reader(100_000)
with pyarrow.ipc.new_stream(sys.stdout.buffer, reader.schema) as stream:
    for batch in reader:
        stream.write_batch(batch)
sys.stdout.buffer.flush()
print('seconds', time.perf_counter() - start, file=sys.stderr)
"""
