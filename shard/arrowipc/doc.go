// Package arrowipc finds the samples of files and streams of Apache Arrow, which are what
// the cache of Hugging Face's datasets is made of.
//
// A scan reads the offsets of values, and not the values. Without compression a value is
// read where it is in the file; a buffer that LZ4 or Zstandard has packed is unpacked
// whole.
//
// # Fields
//
// A field is a column by its path, as "label" or "image.bytes". Binary and text columns
// become parts, in all their layouts, dictionaries among them; a row whose value is null
// has no such part. Whole numbers, booleans, dates and times become numbers as they are
// stored, and floats become floats, of which null is NaN. Lists of whole numbers and
// floats are arrays whose length is open, or that of the type. Whole numbers with nulls,
// other lists, maps, unions and decimals are refused, each with its reason, and the other
// columns stay readable.
package arrowipc
