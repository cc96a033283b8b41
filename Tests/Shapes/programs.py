"""The programs of the Python peers.

Each one prints the seconds of its work to standard error. They begin after the imports, and include the reading of the
file and the writing of the output."""

import json
import subprocess
import sys

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

# Runs programs one after the other in one process. Each line of its input is a JSON list: the file for the output, the
# program, and its words. It answers with an empty line, or with an error. The imports are done before the first line.
TOGETHER = """
import json, os, sys
for name in ('duckdb', 'polars', 'pyarrow'):
    try:
        __import__(name)
    except ImportError:
        pass
replies = os.fdopen(os.dup(1), 'w')
for line in sys.stdin:
    output, code, *words = json.loads(line)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.close(file)
    sys.argv = ['-c', *words]
    try:
        exec(code, {})
        error = ''
    except BaseException as caught:
        error = repr(caught)
    sys.stdout.flush()
    print(' '.join(error.split()), file=replies, flush=True)
"""


class Together:
    """A process for all programs in Python, where times do not count. A start of Python takes a quarter of a second."""

    def __init__(self):
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def run(self, words, output):
        """Runs a program, whose words begin with `python -c`. Returns the text of its error; empty if there is none."""
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, "-c", TOGETHER], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            print(json.dumps([str(output), *words[2:]]), file=self.process.stdin, flush=True)
            reply = self.process.stdout.readline()
        except BrokenPipeError:
            reply = ""
        if not reply:
            # The next program starts another process.
            self.end()
            return "the process ended"
        return reply.strip()

    def end(self):
        if self.process is not None:
            process, self.process = self.process, None
            process.stdin.close()
            process.stdout.close()
            process.wait()
