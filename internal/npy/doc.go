// Package npy reads and writes NumPy's format for one array, versions 1.0 to 3.0, as
// numpy.lib.format describes it: eight bytes that say what it is, the length of a
// header, the header, and the elements.
//
// The header is a literal of Python, which other programs evaluate. Here it is read by
// its grammar: three keys, of which each has values of one kind.
package npy
