// Package ops is what the steps of a recipe do to a record that have no room of their own
// below package op yet: functions of Python, and operations that a Go program registers.
package ops
