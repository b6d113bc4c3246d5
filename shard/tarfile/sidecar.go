package tarfile

import (
	"bufio"
	"bytes"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/headrace/headrace/shard"
)

// listed returns the files of an archive by the index that DALI's wds2idx has put beside
// it, or nil: there is none, or it need not be true. Its version 1.2 has a line for each
// sample, with the suffix, offset, size and name of each file. Versions before have no
// names, and Energon's .tar.idx only has where samples begin: headers have to be read all
// the same.
//
// It is true if its files are all that there is: each follows the one before without a
// gap for anything else, up to the mark that ends the archive. That gives away an index
// of an older archive, and one with the offsets of long names, which wds2idx gets wrong.
// Some headers, the first and the last among them, are compared as well.
func listed(f shard.File) []member {
	base := path.Base(f.Name())
	if dot := strings.IndexByte(base, '.'); dot > 0 {
		base = base[:dot]
	}
	beside, err := shard.Index(f, base+".idx")
	if err != nil {
		return nil
	}
	all := entries(io.NewSectionReader(beside, 0, beside.Size()), f.Size())
	if all == nil || !alike(all, f) {
		return nil
	}
	return all
}

// mostLine is the longest line of an index: a sample with some hundreds of files.
const mostLine = 64 << 10

// entries reads an index of an archive of so many bytes; nil: it is none, or not of all
// that is in the archive. So it takes no more room than the archive has headers.
func entries(text io.Reader, size int64) (all []member) {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, mostLine)
	if !lines.Scan() {
		return nil
	}
	version, count, _ := bytes.Cut(lines.Bytes(), []byte(" "))
	samples, err := strconv.Atoi(string(count))
	if string(version) != "v1.2" || err != nil {
		return nil
	}

	next := int64(0)
	for ; lines.Scan(); samples-- {
		words := bytes.Split(lines.Bytes(), []byte(" "))
		if len(words)%4 != 0 { // a name may have blanks
			return nil
		}
		for ; len(words) > 0; words = words[4:] {
			m, ok := entry(words)
			if !ok || m.header != next || m.size > size-m.at {
				return nil
			}
			all = append(all, m)
			next = m.at + padded(m.size)
		}
	}
	if lines.Err() != nil || samples != 0 || next+blockSize > size {
		return nil
	}
	return all
}

// entry reads the suffix, offset, size and name of a file.
func entry(words [][]byte) (m member, ok bool) {
	at, err := strconv.ParseInt(string(words[1]), 10, 64)
	size, err2 := strconv.ParseInt(string(words[2]), 10, 64)
	if err != nil || err2 != nil || at < blockSize || size < 0 {
		return m, false
	}
	return member{name: bytes.Clone(words[3]), header: at - blockSize, at: at, size: size}, true
}

// compared is how many headers are looked at.
const compared = 16

// alike reports whether an archive has these files, by some of its headers.
func alike(all []member, f shard.File) bool {
	block := make([]byte, blockSize)
	at := func(place int64) header {
		if n, _ := f.ReadAt(block, place); n < blockSize {
			return nil
		}
		return block
	}
	last := len(all) - 1
	if end := at(all[last].at + padded(all[last].size)); end == nil || !end.empty() {
		return false
	}
	for i := range compared {
		m := &all[last*i/(compared-1)]
		h := at(m.header)
		if h == nil || !h.valid() {
			return false
		}
		size, ok := h.size()
		switch h.kind() {
		case kindFile, kindContinuous, kindOld:
		default:
			return false
		}
		if !ok || size != m.size || !bytes.Equal(h.name(nil), m.name) {
			return false
		}
	}
	return true
}
