// Package arrayrecord reads ArrayRecord files, which are files of Riegeli that end in an
// index of their chunks.
//
// A record that is a message tf.train.Example has its features as fields, as package
// tfexample reads them; any other is the field "record". Each chunk is a block, whose
// checksum is compared: how many records it has was decided by the writer's group_size,
// and with 1 a sample costs a read of its bytes. Chunks may be compressed with zstd,
// brotli or snappy. Transposed chunks, whose layout nobody has published, are refused.
package arrayrecord
