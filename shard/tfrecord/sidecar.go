package tfrecord

import (
	"bufio"
	"bytes"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/window"
)

// listed returns where each record begins and the last one ends, by the index that
// tfrecord2idx of DALI or of the package tfrecord has put beside the file. It has a line
// for each record, with its offset and size. nil: there is none, or it need not be true.
//
// It is true if its records fill the file, and some lengths, the first and the last among
// them, are those of the file. If one that is not compared is wrong, its data do not have
// their checksum when they are read.
func listed(f shard.File) []int64 {
	name := path.Base(f.Name())
	bare := strings.TrimSuffix(name, path.Ext(name))
	for _, beside := range []string{name + ".idx", name + ".index", bare + ".idx", bare + ".index"} {
		if other, err := shard.Index(f, beside); err == nil {
			if ends := entries(other, f.Size()); alike(f, ends) {
				return ends
			}
		}
	}
	return nil
}

// entries reads the index of a file of so many bytes; nil: it is none. It is not taken
// into memory as a whole, since it may be anything.
func entries(f shard.File, size int64) []int64 {
	ends := []int64{0}
	next := int64(0)
	lines := bufio.NewScanner(io.NewSectionReader(f, 0, f.Size()))
	for lines.Scan() {
		begin, length, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		at, err := strconv.ParseInt(string(begin), 10, 64)
		n, err2 := strconv.ParseInt(string(length), 10, 64)
		switch {
		case err != nil, err2 != nil, at != next: // records follow each other
			return nil
		case n < before+after, n > size-at:
			return nil
		}
		next += n
		ends = append(ends, next)
	}
	if lines.Err() != nil || next != size {
		return nil
	}
	return ends
}

// compared is how many lengths are looked at.
const compared = 16

// alike reports whether a file has these records, by some of their lengths.
func alike(f shard.File, ends []int64) bool {
	last := len(ends) - 2
	if last < 0 {
		return false
	}
	w := window.New(f)
	for i := range compared {
		k := last * i / (compared - 1)
		header, err := w.At(ends[k], before)
		if err != nil {
			return false
		}
		if n, err := length(f, ends[k], header); err != nil || n != ends[k+1]-ends[k]-before-after {
			return false
		}
	}
	return true
}
