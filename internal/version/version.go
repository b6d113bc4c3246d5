// Package version says which engine this is: its version, the commit it was built from,
// and what is linked into it.
//
// The Python package reads this file when it is built.
//
// # Testing
//
// What programs say about themselves is asked of built ones, with and without C, in
// cmd/headrace.
package version

// Version is that of the engine, the command and the Python package: the one place
// where it is.
const Version = "0.1.0"
