// Package zipfile reads the members of zip files, and the rows of the arrays in NumPy's
// npz.
//
// Members are grouped into samples as those of tar files are: of train/cat.7.jpg the key
// is train/cat, and the field 7.jpg, in small letters. Unlike in a tar file, those of one
// key need not be beside each other. Members whose names have no dot, or begin with one,
// and what macOS adds, are left out. Names are never used as paths.
//
// A file whose name ends in .npz has a sample for each row: the rows of one number of all
// arrays, which are fields of the arrays' names. Arrays without axes, of text or of
// objects, those in Fortran's order, and those of another length than most are refused by
// name.
//
// A member that is stored as it is costs a read of its bytes, or of one row of it. One
// that is compressed, with deflate, bzip2 or zstd, is a block, whose checksum is
// compared.
package zipfile
