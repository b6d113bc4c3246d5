// Package numbers reads the elements of tensors of any type as numbers.
//
// It is for values that are looked at one by one: a contact sheet, the least and the
// greatest of an array, labels that choose a branch, numbers in files for other programs.
// It is not fast.
//
// # Concurrency
//
// Functions of values.
//
// # Testing
//
// Values of every type are written by package encoding/binary and read back; float16 is
// compared with its definition.
package numbers
