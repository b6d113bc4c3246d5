// Package version is the one place where the project's version stands.
//
// The Python package reads this file when it is built.
package version

// Version is that of the engine, the command and the Python package.
const Version = "0.1.0"
