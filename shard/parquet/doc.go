// Package parquet finds the samples of Parquet files, so that any row can be read without
// the others.
//
// A scan reads each column once and keeps where its values are. Numbers are kept
// themselves. What was compressed is split as finely as it can be unpacked: a page of
// Snappy into the fragments of 64 KiB that its encoder worked in, and long runs that did
// not compress, such as those of JPEG files, are ranges of the file as they are. Of other
// codecs the page is what is unpacked.
//
// # Fields
//
// A field is a column by its path, as "label" or "image.bytes". Columns of bytes and text
// become parts; a row whose value is null has no such part. Columns of whole numbers,
// booleans, dates and times become numbers as they are stored, and floats become floats,
// of which null is NaN. Whole numbers with nulls, lists, maps, decimals, int96 and
// encrypted columns are refused, each with its reason, and the other columns stay
// readable. So are the codecs LZ4 and LZO.
package parquet
