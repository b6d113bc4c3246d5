// Package shard reads samples by number from files that hold many of them (shards), as
// they are: tar files, Parquet, TFRecord, lines of JSON and others.
//
// A [Format] knows one kind of file. It scans a shard once, and says of each sample
// where its parts are; package shard/index keeps that. From then on a sample costs one
// read of its own bytes, whichever comes next. Formats are in packages of their own
// below this one.
//
// # Concurrency
//
// A Format has no state: one value reads any number of shards in any number of
// goroutines.
//
// # Hostile input
//
// Files come from anywhere. A format checks each length against the size of the file
// before it takes memory for it, never follows a name out of the file, and fails with an
// [*Error] that says where.
package shard
