package slices

import "bytes"

// Orphan returns a function that reports whether a packet cannot be decoded without what
// was before a key packet: it comes after that and is displayed before it. Where a
// stream begins with the key packet, decoders leave it out. It is nil for codecs that
// have no such packets.
func Orphan(codec string, config []byte) func(key, packet []byte) bool {
	switch codec {
	case "h264", "mpeg4":
		return func(_, _ []byte) bool { return true }
	case "mpeg1video", "mpeg2video":
		return func(key, _ []byte) bool { return !isClosed(key) }
	case "hevc":
		units := unitsOf(hevcLength(config))
		return func(_, packet []byte) (orphan bool) {
			eachUnit(units, packet, func(unit []byte) {
				const first, last = 8, 9 // RASL
				if len(unit) > 0 && unit[0]>>1&63 >= first && unit[0]>>1&63 <= last {
					orphan = true
				}
			})
			return orphan
		}
	}
	return nil
}

// isClosed reports whether a group of pictures of MPEG-1 or 2 says that it needs nothing
// before it.
func isClosed(key []byte) bool {
	at := bytes.Index(key, []byte{0, 0, 1, 0xB8})
	return at >= 0 && len(key) >= at+8 && key[at+7]&0x40 != 0
}
