// Package tfrecord reads TensorFlow's TFRecord files, whose records are messages
// tf.train.Example as package tfexample reads them.
//
// A record is its length in 8 bytes, a checksum of these, the data, and a checksum of the
// data. A scan reads lengths alone, and compares their checksums; that of the data is
// compared when a record is read. A file that is compressed as a whole, with gzip or
// zlib, is one block: a sample of it costs all of it. An index that tfrecord2idx has put
// beside a file is taken where it is true.
package tfrecord
