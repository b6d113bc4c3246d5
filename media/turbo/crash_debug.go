//go:build cgo && headrace_debug

package turbo

// static void crash(void) { *(volatile int *)0 = 1; }
import "C"

// Crash writes to address zero in C, as a defect of a C library would. It exists in
// debug builds only, for tests of what survives it.
func Crash() { C.crash() }
