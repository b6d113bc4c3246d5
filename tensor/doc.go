// Package tensor describes arrays in memory: element type, shape and strides over bytes
// that belong to someone else.
//
// It computes nothing. A [Tensor] is a view: what may be done with its Data, and for
// how long, is said by whoever made it. A [Shape] may hold unknown extents while it
// only describes what is to come; a Tensor has none.
//
// # Concurrency
//
// Values without state. Goroutines that write the Data of one Tensor must agree on who
// writes what.
//
// # Testing
//
// Sizes, offsets and overflow are checked against a walk over every element and against
// math/big.
package tensor
