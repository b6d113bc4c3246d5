// Package parquet writes Parquet files.
//
// Columns are numbers, text and bytes, also in groups of such. None is ever null, but
// they may be, as those that other writers make, since some readers take a column that
// may not for another type.
//
// Numbers and text are compressed with Snappy, in fragments of 64 KiB that can be
// unpacked by themselves. Bytes are as they are, since images are compressed already. So
// package shard/parquet reads any value without its page.
//
// What is written depends on the rows alone, not on how they come.
package parquet
