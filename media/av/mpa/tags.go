package mpa

import (
	"bytes"
	"encoding/binary"
	"io"
	"strconv"
)

// tag returns the size of the tags, and of the zeros, that begin here; 0: there are none.
func tag(b []byte) (n int) {
	for n < len(b) {
		size := tagSize(b[n:])
		if size == 0 {
			break
		}
		n = min(n+size, len(b))
	}
	return n
}

// The sizes of tags that have always the same.
const (
	id3v1Size    = 128
	extendedSize = 227 // of "TAG+", before ID3v1
	apeSize      = 32  // of a header or a footer
	lyricsEnd    = len("000000LYRICS200")
)

func tagSize(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("TAG+")):
		return extendedSize
	case bytes.HasPrefix(b, []byte("TAG")):
		return id3v1Size
	case ID3Size(b) > 0:
		return ID3Size(b)
	case bytes.HasPrefix(b, []byte("APETAGEX")):
		return apeSize + apeItems(b)
	case bytes.HasPrefix(b, []byte("LYRICSBEGIN")):
		for _, end := range []string{"LYRICS200", "LYRICSEND"} {
			if i := bytes.Index(b, []byte(end)); i >= 0 {
				return i + len(end)
			}
		}
		return len(b)
	}
	return len(b) - len(bytes.TrimLeft(b, "\x00"))
}

// mostTags bounds how many tags are skipped: nobody writes more than a few.
const mostTags = 16

// Tags returns how many bytes at the beginning of a file are tags of ID3v2, which some
// programs put before files of any kind.
func Tags(file io.ReaderAt) (n int64, err error) {
	for range mostTags {
		var head [10]byte
		if _, err := file.ReadAt(head[:], n); err == io.EOF {
			return n, nil
		} else if err != nil {
			return 0, err
		}
		size := ID3Size(head[:])
		if size == 0 {
			break
		}
		n += int64(size)
	}
	return n, nil
}

// ID3Size returns the size of the tag of ID3v2 that begins here; 0: there is none.
func ID3Size(b []byte) int {
	if len(b) < 10 || string(b[:3]) != "ID3" {
		return 0
	}
	return id3Size(b)
}

func id3Size(b []byte) int {
	size := 10 + int(b[6]&127)<<21 + int(b[7]&127)<<14 + int(b[8]&127)<<7 + int(b[9]&127)
	if b[5]&0x10 != 0 {
		size += 10 // a footer
	}
	return size
}

// apeItems returns how many bytes a header of APE says that follow it: items, and the
// footer.
func apeItems(b []byte) int {
	if len(b) < apeSize {
		return 0
	}
	return int(min(binary.LittleEndian.Uint32(b[12:]), 1<<30))
}

// tailed returns where the tags at the end of a file begin, which say themselves how
// large they are.
func tailed(b []byte) int {
	for {
		n := endingTag(b)
		if n == 0 || n > len(b) {
			return len(b)
		}
		b = b[:len(b)-n]
	}
}

func endingTag(b []byte) int {
	before := func(n int, mark string) bool {
		return len(b) >= n && bytes.HasPrefix(b[len(b)-n:], []byte(mark))
	}

	switch {
	case before(id3v1Size, "TAG"):
		return id3v1Size
	case before(extendedSize, "TAG+"):
		return extendedSize
	case before(apeSize, "APETAGEX"):
		foot := b[len(b)-apeSize:]
		n := apeItems(foot) // and this footer
		if foot[23]&0x80 != 0 {
			n += apeSize // a header
		}
		return max(n, apeSize)
	case before(10, "3DI"): // as the header, and says of itself that it is there
		return id3Size(b[len(b)-10:])
	case before(len("LYRICS200"), "LYRICS200") && len(b) >= lyricsEnd:
		n, err := strconv.Atoi(string(b[len(b)-lyricsEnd:][:6]))
		if err == nil && n > 0 {
			return n + lyricsEnd
		}
	case before(len("LYRICSEND"), "LYRICSEND"):
		const most = 5100
		if i := bytes.LastIndex(b[max(0, len(b)-most-20):], []byte("LYRICSBEGIN")); i >= 0 {
			return min(len(b), most+20) - i
		}
	}
	return 0
}
