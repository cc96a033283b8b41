"""One session of Spark for all tests: two executors of one core, with processes of their own."""

import atexit
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGES = ROOT / "Sources/TabellaPython"
ALL = bool(os.environ.get("TABELLA_SPARK_ALL"))
_session = None
_folder = None


def session():
    """The session. The first call starts it, which takes about 15 seconds."""
    global _session, _folder
    if _session is None:
        _folder = tempfile.mkdtemp(prefix="tabella-spark-")
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
        path = f"{PACKAGES}:{HERE}"
        # The commands of the guide call `tabella`.
        os.environ["PATH"] = f"{pathlib.Path(os.environ['TABELLA']).resolve().parent}:{os.environ['PATH']}"
        providers = pathlib.Path(_folder) / "providers"
        providers.mkdir(mode=0o700)
        os.environ["TABELLA_PROVIDER_PATH"] = str(providers)
        make_providers(providers)
        os.environ.update(
            PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable, PYTHONPATH=path, SPARK_LOCAL_IP="127.0.0.1",
            PYTHONDONTWRITEBYTECODE="1", TZ="UTC", SPARK_WORKER_DIR=f"{_folder}/work", XDG_STATE_HOME=f"{_folder}/state")  # fmt: skip
        import pyspark
        from pyspark.sql import SparkSession

        os.environ["SPARK_HOME"] = str(pathlib.Path(pyspark.__file__).parent)
        conf = {
            "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g",
            "spark.executor.memory": "1g", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2", "spark.local.dir": f"{_folder}/local", "spark.task.maxFailures": "1",
            "spark.sql.warehouse.dir": f"{_folder}/warehouse", "spark.executorEnv.PYTHONPATH": path,
            "spark.sql.python.filterPushdown.enabled": "true", "spark.log.level": "OFF",
            "spark.executorEnv.TABELLA_LIBRARY": os.environ["TABELLA_LIBRARY"],
            "spark.executorEnv.TABELLA_PROVIDER_PATH": str(providers), "spark.executorEnv.PATH": os.environ["PATH"],
        }  # fmt: skip
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("tabella")
        for name, value in conf.items():
            builder = builder.config(name, value)
        # Spark plans in the folder in which Java was started.
        before = os.getcwd()
        os.chdir(home())
        _session = builder.getOrCreate()
        os.chdir(before)
        from counted import CountedDataSource

        from tabella.spark import TabellaDataSource

        _session.dataSource.register(TabellaDataSource)
        _session.dataSource.register(CountedDataSource)
    return _session


def home():
    """The folder of the session, which is empty at first."""
    path = pathlib.Path(_folder) / "home"
    path.mkdir(exist_ok=True)
    return path


def make_providers(folder):
    """Compiles two foreign providers: `planets`, and `fall`, which crashes when it is read."""
    sys.path.append(str(ROOT / "Tests/Python"))
    import support

    with tempfile.TemporaryDirectory() as work:
        for house in (support.planets(pathlib.Path(work)), support.animal(pathlib.Path(work), "fall", "aborts", "rows")):
            for path in house.iterdir():
                shutil.move(path, folder / path.name)


def stop():
    """Ends the session, and its Java process."""
    if _session is None:
        return
    gateway = _session.sparkContext._gateway
    _session.stop()
    gateway.shutdown()
    process = gateway.proc
    process.stdin.close()
    try:
        process.wait(30)
    except Exception:
        process.kill()


class Case(unittest.TestCase):
    """A test with a session and a folder of its own."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="tabella-spark-test-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.spark = session()

    def read(self, *locations, format="tabella", schema=None, **options):
        """A data frame of locations, or of a fleet without one."""
        reader = self.spark.read.format(format).options(**options)
        reader = reader if schema is None else reader.schema(schema)
        return reader.load(*map(str, locations)) if len(locations) < 2 else reader.load(list(map(str, locations)))

    def error_of(self, frame):
        """The last line of the Python error with which a query fails."""
        with self.assertRaises(Exception) as raised:
            (frame() if callable(frame) else frame).collect()
        lines = [line for line in str(raised.exception).splitlines() if line.startswith("tabella.")]
        self.assertTrue(lines, str(raised.exception))
        return lines[-1]
