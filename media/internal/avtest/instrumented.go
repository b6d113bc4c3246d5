//go:build asan || race

package avtest

// Instrumented tells that the build watches memory, which then takes more of it.
const Instrumented = true
