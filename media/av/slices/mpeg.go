package slices

// typeB is how MPEG-1 and 2 call pictures that none refers to.
const typeB = 3

// mpeg2Unneeded judges what follows a start code. A picture's type is after ten bits of
// its number.
func mpeg2Unneeded(unit []byte) verdict {
	if len(unit) == 0 {
		return neutral
	}
	switch unit[0] {
	case 0x00:
		if len(unit) >= 3 && unit[2]>>3&7 == typeB {
			return unneeded
		}
		return needed
	case 0xb3, 0xb8:
		return needed // what follows begins again
	}
	return neutral
}

// mpeg4Unneeded does so for MPEG-4: types are two bits after the start code, and 2 is B.
func mpeg4Unneeded(unit []byte) verdict {
	switch {
	case len(unit) == 0:
		return neutral
	case unit[0] == 0xb6:
		if len(unit) >= 2 && unit[1]>>6 == 2 {
			return unneeded
		}
		return needed
	case unit[0] < 0x30 || unit[0] == 0xb0 || unit[0] == 0xb3:
		return needed // layers and groups
	}
	return neutral
}
