// Package numbers reads the elements of tensors of any type as numbers.
//
// It is for people who want to look at values: a contact sheet, the least and the
// greatest of an array. It is not fast.
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
