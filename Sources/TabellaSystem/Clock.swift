extension timespec {
  /// The present time of a clock, such as `CLOCK_MONOTONIC`.
  package init(on clock: clockid_t) {
    self.init()
    clock_gettime(clock, &self)
  }

  /// The time in seconds.
  package var seconds: Double { Double(tv_sec) + Double(tv_nsec) / 1e9 }
}

/// The seconds of a monotonic clock.
package func now() -> Double { timespec(on: CLOCK_MONOTONIC).seconds }
