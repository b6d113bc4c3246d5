// Package arrowfile writes Arrow's file format, which is also called Feather.
//
// Columns are numbers, arrays of one shape, as lists of a fixed size, and text. None has
// a null. Buffers are as they are, not compressed: programs map them into memory.
//
// What is written depends on the rows alone, not on how they come.
package arrowfile
