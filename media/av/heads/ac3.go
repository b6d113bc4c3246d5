package heads

var kilobits = [19]int64{32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640}

// AC3 returns the size of a frame of AC-3 or its successor that begins with these bytes
// (ATSC A/52): 0 if that is no frame, -1 if they are too few.
func AC3(b []byte) int64 {
	if b[0] != 0x0B || len(b) > 1 && b[1] != 0x77 {
		return 0
	}
	if len(b) < 6 {
		return -1
	}
	if b[5]>>3 > 10 {
		return 2 * (int64(b[2]&7)<<8 + int64(b[3]) + 1)
	}
	k := int(b[4] & 63 >> 1)
	if k >= len(kilobits) {
		return 0
	}
	switch b[4] >> 6 {
	case 0:
		return 4 * kilobits[k]
	case 1:
		return 2 * (kilobits[k]*96000/44100 + int64(b[4]&1))
	case 2:
		return 6 * kilobits[k]
	}
	return 0
}
