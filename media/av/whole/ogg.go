package whole

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/media"
)

// mostPage is the largest page of Ogg (RFC 3533).
const mostPage = 27 + 255 + 255*255

// pages is what is at the end of a file of Ogg: in it at least one page is whole.
const pages = 2 * mostPage

// ogg walks over the last pages. They have to end with the file, and the packets of every
// stream with its last page.
func ogg(f *file) (End, error) {
	from := max(0, f.size-pages)
	b := bytes.Clone(f.bytes(from, pages))
	end := Unknown
	open := map[uint32]bool{} // streams whose last packet goes on
	at, synced := 0, false

	for at < len(b) {
		if !bytes.HasPrefix(b[at:], []byte("OggS")) {
			if synced && bytes.HasPrefix([]byte("OggS"), b[at:]) {
				return end, f.cutHead("a page")
			}
			synced = false
			next := bytes.Index(b[at:], []byte("OggS"))
			if next < 0 {
				break // what is behind the last page is no page
			}
			at += next
		}
		page, whole := pageAt(b[at:])
		if !synced && (!whole || !summed(b[at:at+page])) { // four letters inside a page, or damage
			if !whole && end == Unknown && from == 0 && at == 0 {
				return end, f.cut("a page", int64(page))
			}
			at++
			continue
		}
		if !whole {
			if page == 0 {
				return end, f.cutHead("a page")
			}
			return end, f.cut("a page", from+int64(at+page))
		}

		synced = true
		head := b[at:]
		last := head[5]&4 != 0
		if n := int(head[26]); n > 0 {
			open[binary.LittleEndian.Uint32(head[14:])] = head[26+n] == 255 && !last
		}
		if end = Open; last {
			end = Stated
		}
		at += page
	}
	for _, goesOn := range open {
		if goesOn {
			return end, fmt.Errorf("%w: the file ends after %d bytes, inside a packet, which goes on in the next page", media.ErrTruncated, f.size)
		}
	}
	return end, nil
}

// pageAt is the size of the page that b begins with, as far as that is known, and whether
// all of it is there.
func pageAt(b []byte) (size int, whole bool) {
	if len(b) < 27 {
		return 0, false
	}
	n := 27 + int(b[26])
	if len(b) < n {
		return 0, false
	}
	size = n
	for _, lace := range b[27:n] {
		size += int(lace)
	}
	return size, b[4] == 0 && len(b) >= size
}

var oggSums = func() (t [256]uint32) {
	for i := range t {
		r := uint32(i) << 24
		for range 8 {
			top := r >> 31
			r = r<<1 ^ top*0x04C11DB7
		}
		t[i] = r
	}
	return t
}()

// summed reports whether a page has the checksum that it says.
func summed(page []byte) bool { return sumOf(page) == binary.LittleEndian.Uint32(page[22:]) }

func sumOf(page []byte) (sum uint32) {
	for i, c := range page {
		if i >= 22 && i < 26 { // the sum itself counts as zeros
			c = 0
		}
		sum = sum<<8 ^ oggSums[byte(sum>>24)^c]
	}
	return sum
}
