//go:build !asan && !race && !msan

package turbo

const instrumented = false
