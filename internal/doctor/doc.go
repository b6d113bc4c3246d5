// Package doctor finds out what a machine has of what Headrace uses, and whether it
// works.
//
//	report := doctor.Examine(doctor.Here())
//	for _, f := range report.Findings { fmt.Println(f.Status, f.Name, f.Fact, f.Advice) }
//
// Nothing is concluded that can be tried: images of every format are decoded and
// written, shared memory is made, sealed, sent through a socket and mapped again, by
// the code that does it for loaders. What is read from /proc and /sys is said with what
// it leads to.
//
// # Reading
//
// doctor.go has the report and the list of examinations; processor.go, memory.go,
// sharing.go and images.go are these.
//
// # Concurrency
//
// Values without state.
//
// # Testing
//
// Machines that lack things are fabricated as file systems; the built program runs
// under real limits in cmd/headrace.
package doctor
