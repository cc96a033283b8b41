// One walk over the cells of a generated CSV file, for the floors that look at cells.
#include "floor.h"

// Calls visit(column, start, end) for each cell and record(start) for each record, including the header. It is a macro
// instead of a function with a pointer, so that the compiler can inline the calls.
#define EACH_CELL(file, visit, record)                                                \
  do {                                                                                \
    const unsigned char *bytes_ = (file).bytes;                                       \
    uint64_t quoted_ = 0;                                                             \
    int column_ = 0;                                                                  \
    size_t cell_ = 0, record_ = 0;                                                    \
    for (size_t at_ = 0; at_ < (file).count; at_ += 64) {                             \
      uint64_t inside_ = between_quotes(bytes_ + at_, &quoted_);                      \
      uint64_t ends_ = equal64(bytes_ + at_, '\n') & ~inside_;                        \
      uint64_t marks_ = (equal64(bytes_ + at_, ',') & ~inside_) | ends_;              \
      while (marks_) {                                                                \
        int bit_ = __builtin_ctzll(marks_);                                           \
        size_t end_ = at_ + (size_t)bit_;                                             \
        marks_ &= marks_ - 1;                                                         \
        visit(column_, cell_, end_);                                                  \
        cell_ = end_ + 1;                                                             \
        if (ends_ >> bit_ & 1) {                                                      \
          record(record_);                                                            \
          record_ = end_ + 1;                                                         \
          column_ = 0;                                                                \
        } else {                                                                      \
          column_++;                                                                  \
        }                                                                             \
      }                                                                               \
    }                                                                                 \
  } while (0)
