//go:build asan || race || msan

package hostile

// instrumented code is slow, and has memory of its own.
const (
	instrumented = true
	slowness     = 8
)
