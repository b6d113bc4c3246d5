//go:build !asan && !race && !msan

package hostile

const (
	instrumented = false
	slowness     = 1
)
