// Package npy reads the rows of NumPy's files of one array.
//
// A sample is a row: what has one number of the first axis. It is the field "array". The
// elements are numbers or truth values, little-endian and in C order; anything else is
// refused by name. A sample costs a read of its bytes.
package npy
