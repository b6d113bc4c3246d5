package whole

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/heads"
)

// mostPage is the largest page of Ogg (RFC 3533).
const mostPage = 27 + 255 + 255*255

// pages is what is at the end of a file of Ogg: in it at least one page is whole.
const pages = 2 * mostPage

// ogg walks over the last pages. They have to end with the file, and the packets of every
// stream with its last page.
func ogg(f *file) (End, error) {
	from := max(0, f.Len-pages)
	b := bytes.Clone(f.Bytes(from, pages))
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
		page, whole := heads.Page(b[at:])
		if !synced && (!whole || !heads.Summed(b[at:at+page])) { // four letters inside a page, or damage
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
			return end, fmt.Errorf("%w: the file ends after %d bytes, inside a packet, which goes on in the next page",
				media.ErrTruncated, f.Len)
		}
	}
	return end, nil
}
