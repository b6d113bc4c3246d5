// Package fast converts images in C, and gives the same bytes as package yuv does in
// Go.
//
// Importing it is enough; without cgo it is empty.
package fast
