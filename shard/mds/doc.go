// Package mds reads sets of MosaicML's Streaming: shards that a file index.json names.
//
// The values of a sample have the types of their columns' encodings:
//
//   - bytes, jpeg and png are bytes, str, str_decimal and json text;
//   - int, str_int, int8 to int64 and uint8 to uint64, float16 to float64 and str_float are
//     numbers;
//   - ndarray is an array, whose type and shape may be with every sample;
//   - pil is an image: an array of height, width and channels.
//
// A column of encoding pkl is no field, since unpickling may run any program.
//
// A sample of a shard that is not compressed costs a read of its bytes. One that is
// compressed is a block, whatever the compression: zstd, gz, br, snappy or bz2. The
// hashes of shards are not compared, which would take a read of them all.
package mds
