package whole

import (
	"bytes"
	"encoding/binary"

	"github.com/headrace/headrace/media/av/heads"
)

// Mended returns what can be read of a file in memory that readers refuse, or read less
// of, as it is cut off; nil, if it is none of these. The file stays as it is.
//
// Ogg that ends inside a page has a page instead with the packets that are there. That
// page is not the last, and says when it ends as before, for readers want it to: times
// may be late, but nothing is cut by them. WavPack ends after its last whole block.
func Mended(file []byte) []byte {
	if at := cutBlock(file); at > 0 {
		return file[:at:at]
	}
	if at := cutPage(file); at > 0 {
		return mendPage(file, at)
	}
	return nil
}

// mendPage mends the page that begins at a place.
func mendPage(file []byte, at int) []byte {
	const head = 27
	page := file[at:]
	if len(page) < head || len(page) < head+int(page[26]) {
		return file[:at:at]
	}

	laces := page[head:][:page[26]]
	body := page[head+len(laces):]
	packets, size, sum := 0, 0, 0 // laces and bytes of whole packets
	for i, lace := range laces {
		if sum += int(lace); sum > len(body) {
			break
		}
		if lace < 255 {
			packets, size = i+1, sum
		}
	}
	if packets == 0 {
		return file[:at:at]
	}

	made := make([]byte, 0, at+head+packets+size)
	made = append(append(append(append(made, file[:at]...), page[:head]...), laces[:packets]...), body[:size]...)
	page = made[at:]
	page[5] &^= 4 // it is not the last
	page[26] = byte(packets)
	binary.LittleEndian.PutUint32(page[22:], heads.Sum(page))
	return made
}

// cutPage is where the page of Ogg begins in which a file ends; -1: it ends in none.
func cutPage(file []byte) int {
	if !bytes.HasPrefix(file, []byte("OggS")) {
		return -1
	}
	at := max(0, len(file)-pages)
	synced := at == 0

	for at < len(file) {
		next := bytes.Index(file[at:], []byte("OggS"))
		if next < 0 && synced && bytes.HasPrefix([]byte("OggS"), file[at:]) {
			return at
		}
		if next < 0 {
			break
		}
		at += next
		size, whole := heads.Page(file[at:])
		switch {
		case whole && heads.Summed(file[at:at+size]):
			at, synced = at+size, true
		case !whole && synced && next == 0 && versioned(file[at:]):
			return at
		default: // four letters inside a page, or damage
			at, synced = at+1, false
		}
	}
	return -1
}

// versioned reports whether a page of Ogg has the version that all have, or ends before.
func versioned(page []byte) bool { return len(page) < 5 || page[4] == 0 }

// cutBlock is where the block of WavPack begins in which a file ends; -1: it ends in
// none.
func cutBlock(file []byte) int {
	at := 0
	for bytes.HasPrefix(file[at:], []byte("wvpk")) {
		if len(file)-at < 8 {
			return at
		}
		next := at + 8 + int(binary.LittleEndian.Uint32(file[at+4:]))
		if next > len(file) {
			return at
		}
		at = next
	}
	if at > 0 && at < len(file) && bytes.HasPrefix([]byte("wvpk"), file[at:]) {
		return at
	}
	return -1
}
