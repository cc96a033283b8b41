import Glibc

/// Lets the testing library run four cases per processor at the same time, instead of two. Runs before `main`.
///
/// Many cases wait for programs that they started. With two cases per processor, the processors are idle for a third of
/// the time. If the variable is set already, its value stays.
@section(".init_array") @used
private let widenTests: @convention(c) () -> Void = {
  let width = 4 * sysconf(Int32(_SC_NPROCESSORS_ONLN))
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "\(width)", 0)
}
