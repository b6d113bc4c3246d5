//go:build cgo && (asan || race || msan)

package turbo

// instrumented: the compiler adds allocations of its own.
const instrumented = true
