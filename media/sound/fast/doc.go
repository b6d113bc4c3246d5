// Package fast resamples in C, and gives the same bits as package sound does in Go.
//
// Importing it is enough; without cgo it is empty.
package fast
