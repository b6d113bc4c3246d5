package slices

import "bytes"

// unitsOf returns the splitter of packets whose units have a length in front, of so many
// bytes, as in MP4 and Matroska; of 0 bytes, units have start codes between them.
func unitsOf(length int) splitter {
	if length == 0 {
		return startCodes
	}
	return func(packet []byte) (unit, rest []byte, ok bool) {
		if len(packet) < length {
			return nil, nil, false
		}
		size := 0
		for _, c := range packet[:length] {
			size = size<<8 | int(c)
		}
		packet = packet[length:]
		if size > len(packet) {
			return nil, nil, false
		}
		return packet[:size], packet[size:], true
	}
}

var startCode = []byte{0, 0, 1}

// startCodes finds units that begin with 00 00 01. The unit is what follows, up to the
// next.
var startCodes splitter = func(packet []byte) (unit, rest []byte, ok bool) {
	at := bytes.Index(packet, startCode)
	if at < 0 {
		return nil, nil, false
	}
	packet = packet[at+len(startCode):]
	end := bytes.Index(packet, startCode)
	if end < 0 {
		return packet, nil, true
	}
	return packet[:end], packet[end:], true
}

// avcLength returns how many bytes the length of a unit has.
func avcLength(config []byte) int {
	if len(config) < 5 || config[0] != 1 {
		return 0
	}
	return int(config[4]&3) + 1
}

func hevcLength(config []byte) int {
	if !isHVCC(config) {
		return 0
	}
	return int(config[21]&3) + 1
}

// isHVCC tells a configuration from parameter sets with start codes.
func isHVCC(config []byte) bool {
	return len(config) >= 23 && (config[0] != 0 || config[1] != 0 || config[2] > 1)
}
