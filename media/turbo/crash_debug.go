//go:build headrace_debug

package turbo

// static void hr_crash(void) { *(volatile int *)0 = 0; }
import "C"

// Crash writes to address 0, in C: what a defect in a decoder may do to the process. Tests of what others do then use it.
func Crash() { C.hr_crash() }
