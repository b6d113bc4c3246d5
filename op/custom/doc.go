// Package custom has the operations and batchings that a Go program registers: it finds
// the fields of samples that their types name, and calls them.
package custom
