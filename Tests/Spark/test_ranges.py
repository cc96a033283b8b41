"""A large file in several tasks: planning reads it once, and the tasks together read each byte once."""

import random
import unittest

import cluster
import counted

SIZE = 1_000_000_000 if cluster.ALL else 100_000_000
# A task reads the start of the file to learn its columns and its delimiter.
START = 1 << 20
# Python's own files, and positions that are looked up in the index.
OTHER = 4 << 20


class Ranges(cluster.Case):
    def make(self):
        """A file of SIZE bytes in which quoted cells contain line ends. Returns its path, its rows and a sum."""
        path = self.folder / "large.csv"
        chance = random.Random(3)
        block, number, total = [], 0, 0
        texts = ["plain text", '"a, b"', '"two\nlines"', '"say ""x"""', "caf\u00e9", ""]
        for number in range(20_000):
            amount = chance.randint(0, 10**6)
            total += amount
            block.append(f"{number},{chance.choice(texts)},{amount},2024-0{chance.randint(1, 9)}-15T12:00:00Z,{'x' * chance.randint(0, 120)}\n")
        data = "".join(block).encode()
        repeats = max(1, SIZE // len(data))
        with open(path, "wb") as file:
            file.write(b"id,text,amount,at,filler\n")
            for _ in range(repeats):
                file.write(data)
        return path, len(block) * repeats, total * repeats

    def test_each_byte_is_read_once(self):
        path, rows, total = self.make()
        size = path.stat().st_size
        counts = self.folder / "counts"
        counts.mkdir()
        for tasks in (2, 4, 8):
            with self.subTest(tasks=tasks):
                schema = "id LONG, text STRING, amount LONG, at TIMESTAMP, filler STRING"
                frame = self.read(path, format="counted", counts=counts, schema=schema, tasks=str(tasks))
                found = frame.selectExpr("count(*)", "sum(amount)", "count(text)", "max(at)").first()
                self.assertEqual((found[0], found[1], found[2]), (rows, total, rows))
                plan, read = counted.take(counts, "plan"), counted.take(counts, "task")
                print(f"{tasks} tasks: planning read {sum(plan) / size:.3f}, the tasks {sum(read) / size:.3f} of {size} bytes")
                self.assertEqual((len(plan), len(read)), (1, tasks))
                self.assertGreaterEqual(sum(plan), size)
                self.assertLess(sum(plan), size + START + OTHER)
                self.assertGreaterEqual(sum(read), size)
                self.assertLess(sum(read), size + tasks * (START + OTHER))
                # No task reads much more than its part.
                self.assertLess(max(read), size / tasks * 1.1 + START + OTHER)

    def test_filters_read_less(self):
        """Parts of the file without a matching row were read."""
        path = self.folder / "days.csv"
        rows, days = SIZE // 100, 50
        filler = "x" * 80
        with open(path, "w") as file:
            file.write("n,day,text\n")
            for start in range(0, rows, 1000):
                file.write("".join(f'{n},{n * days // rows},"{filler}\n"\n' for n in range(start, start + 1000)))
        size = path.stat().st_size
        counts = self.folder / "counts"
        counts.mkdir()
        schema = "n LONG, day INT, text STRING"
        cases = {"day = 7": 1, "day < 5 OR day < 3": days, "day < 5": 5, "n = 12345": 0, "day IN (0, 49)": 2, "day = 50": 0}
        for condition, wanted in cases.items():
            with self.subTest(condition=condition):
                frame = self.read(path, format="counted", counts=counts, schema=schema, tasks="8", pushFilters="true")
                found = frame.where(condition).selectExpr("count(*)", "sum(n)").first()
                plan, read = counted.take(counts, "plan"), counted.take(counts, "task")
                counted.take(counts, "rows")
                matching = [n for n in range(rows) if self.matches(condition, n, n * days // rows)]
                self.assertEqual((found[0], found[1] or 0), (len(matching), sum(matching)))
                print(f"{condition}: planning read {sum(plan) / size:.3f}, the tasks {sum(read) / size:.3f} of {size} bytes")
                # One range may end in a gap of 4 MiB.
                self.assertLess(sum(read), size * wanted / days + (len(read) + 2) * (START + OTHER))
                self.assertLess(sum(plan), size * 1.1 + START + OTHER)
        # The option `filter`, whose rows Spark does not know.
        frame = self.read(path, format="counted", counts=counts, schema=schema, tasks="8", filter="day = 7")
        self.assertEqual(frame.count(), sum(1 for n in range(rows) if n * days // rows == 7))
        self.assertLess(sum(counted.take(counts, "task")), size / 5 + 8 * OTHER)

    @staticmethod
    def matches(condition, n, day):
        text = condition.replace(" = ", " == ").replace("OR", "or").replace("IN", "in")
        return eval(text, {"n": n, "day": day})

    def test_the_schema_reads_only_the_start(self):
        path, _, _ = self.make()
        counts = self.folder / "counts"
        counts.mkdir()
        self.read(path, format="counted", counts=counts)
        self.assertLess(sum(counted.take(counts, "schema")), 2 * START + OTHER)

    def test_a_file_that_changed_after_planning(self):
        path = self.folder / "data.csv"
        path.write_text("a\n" + "1\n" * 1000)
        frame = self.read(path, tasks="2")
        # The plan of this frame is made now, and its tasks run later.
        rdd = frame.rdd
        self.assertEqual(rdd.getNumPartitions(), 2)
        path.write_text("a\n" + "22\n" * 1000)
        self.assertIn("has changed since the query was planned", self.error_of(rdd))


if __name__ == "__main__":
    unittest.main()
