// typed FILE writes the cells of the plain file as arrays: numbers as 64 bits, booleans as bytes, text as bytes and
// offsets. typed FILE sums prints a sum of each column of numbers instead, and typed FILE types the number of columns
// whose cells all have a type other than text.
#include "cells.h"

enum { COLUMNS = 10, ROOM = 1 << 16 };
enum kind { TEXT, INTEGER, REAL, BOOLEAN };
static const enum kind kinds[COLUMNS] = {INTEGER, TEXT, TEXT,    TEXT, REAL,
                                         INTEGER, TEXT, BOOLEAN, REAL, TEXT};
// The decimals of the generated reals.
static const double scales[COLUMNS] = {1, 1, 1, 1, 100, 1, 1, 1, 1e6, 1};

static struct {
  char *bytes, *end;
  int64_t sum;
  int32_t offset;
  int wrong;
  unsigned char room[ROOM + 64];
  int32_t offsets[ROOM / 4];
  size_t count;
} columns[COLUMNS];

FLOOR(void write_all)(const void *bytes, size_t count) {
  if (count && write(1, bytes, count) != (ssize_t)count) exit(1);
}

FLOOR(void empty)(int column) {
  write_all(columns[column].room, (size_t)(columns[column].end - columns[column].bytes));
  write_all(columns[column].offsets, columns[column].count * 4);
  columns[column].end = columns[column].bytes;
  columns[column].count = 0;
}

// The number of the digits, as an integer, and the number of its decimals. Sets wrong for other bytes.
FLOOR(int64_t number_in)(const unsigned char *value, size_t count, int *decimals, int *wrong) {
  int64_t number = 0;
  *decimals = -1;
  *wrong |= count == 0;
  for (size_t at = 0; at < count; at++) {
    if (value[at] == '.') {
      *wrong |= *decimals >= 0;
      *decimals = (int)(count - at - 1);
    } else {
      *wrong |= (unsigned char)(value[at] - '0') > 9;
      number = number * 10 + (value[at] - '0');
    }
  }
  return number;
}

FLOOR(void take)(int column, const unsigned char *value, size_t count) {
  static const double powers[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
  if (columns[column].end + count + 8 > columns[column].bytes + ROOM
      || columns[column].count == ROOM / 4)
    empty(column);
  int decimals, wrong = 0;
  if (kinds[column] == TEXT) {
    if (count <= 32)
      memcpy(columns[column].end, value, 32);
    else
      memcpy(columns[column].end, value, count);
    columns[column].end += count;
    columns[column].offset += (int32_t)count;
    columns[column].offsets[columns[column].count++] = columns[column].offset;
  } else if (kinds[column] == BOOLEAN) {
    wrong = count != 4 || memcmp(value, "true", 4);
    *columns[column].end++ = (char)!wrong;
    columns[column].sum += !wrong;
    wrong = wrong && (count != 5 || memcmp(value, "false", 5));
  } else {
    int64_t number = number_in(value, count, &decimals, &wrong);
    if (kinds[column] == REAL) {
      double real = (double)number / powers[decimals < 0 ? 0 : decimals % 10];
      memcpy(columns[column].end, &real, 8);
      number = (int64_t)(real * scales[column] + 0.5);
    } else {
      wrong |= decimals >= 0;
      memcpy(columns[column].end, &number, 8);
    }
    columns[column].end += 8;
    columns[column].sum += number;
  }
  columns[column].wrong |= wrong;
}

int main(int count, char **words) {
  if (count < 2) return 2;
  mapped file = map_file(words[1]);
  for (int column = 0; column < COLUMNS; column++)
    columns[column].bytes = columns[column].end = (char *)columns[column].room;
  int body = 0, shown = count > 2 ? open("/dev/null", O_WRONLY) : -1;
  int out = dup(1);
  // The arrays of a look at sums or types go nowhere.
  if (shown >= 0 && dup2(shown, 1) < 0) return 1;
#define VISIT(column, start, end) \
  if (body) take(column, file.bytes + start, end - start)
#define RECORD(start) ((void)(start), body = 1)
  EACH_CELL(file, VISIT, RECORD);
  for (int column = 0; column < COLUMNS; column++) empty(column);
  if (shown < 0) return 0;
  int typed = 0;
  for (int column = 0; column < COLUMNS; column++) {
    if (kinds[column] == TEXT) continue;
    typed += !columns[column].wrong;
    if (strcmp(words[2], "sums") == 0) dprintf(out, "%lld\n", (long long)columns[column].sum);
  }
  if (strcmp(words[2], "types") == 0) dprintf(out, "%d\n", typed);
  return 0;
}
