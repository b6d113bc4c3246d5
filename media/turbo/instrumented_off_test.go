//go:build cgo && !asan && !race && !msan

package turbo

const instrumented = false
