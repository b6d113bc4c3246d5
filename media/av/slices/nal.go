package slices

// avcUnneeded judges a unit of H.264: nal_ref_idc is 0 for what no other picture needs.
func avcUnneeded(unit []byte) verdict {
	if len(unit) == 0 {
		return neutral
	}
	switch kind := unit[0] & 31; {
	case kind == 7 || kind == 8 || kind == 13 || kind == 15:
		return needed // parameters, perhaps of pictures that follow
	case kind == 0 || kind > 5:
		return neutral
	case unit[0]>>5&3 == 0:
		return unneeded
	}
	return needed
}

// hevcUnneeded judges a unit of H.265. The types of pictures that no other one of their
// layer needs are even and below 16; those of higher layers may need them all the same.
func hevcUnneeded(unit []byte, layers int) verdict {
	if len(unit) < 2 {
		return neutral
	}
	kind, layer := unit[0]>>1&63, int(unit[1]&7)-1
	switch {
	case kind >= 32 && kind <= 34:
		return needed // parameters
	case kind > 31:
		return neutral
	case kind < 16 && kind%2 == 0 && layers > 0 && layer == layers-1:
		return unneeded
	}
	return needed
}

// hevcLayers returns how many temporal layers a stream has, or 0 if nothing says it.
func hevcLayers(config []byte) int {
	if isHVCC(config) {
		return int(config[21] >> 3 & 7)
	}
	for len(config) > 0 {
		unit, rest, ok := startCodes(config)
		if !ok {
			break
		}
		// The video parameter set has the number less one after 12 bits of its own.
		if len(unit) >= 4 && unit[0]>>1&63 == 32 {
			return int(unit[3]>>1&7) + 1
		}
		config = rest
	}
	return 0
}
