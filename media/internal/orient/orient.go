// Package orient is the arithmetic of EXIF's eight orientations: which stored pixel stands where when the picture is upright.
package orient

// At returns where the pixel (x, y) of the upright picture is in the stored one, whose size is width × height.
func At(orientation, width, height, x, y int) (sx, sy int) {
	right, bottom := width-1, height-1
	switch orientation {
	case 2:
		return right - x, y
	case 3:
		return right - x, bottom - y
	case 4:
		return x, bottom - y
	case 5:
		return y, x
	case 6:
		return y, bottom - x
	case 7:
		return right - y, bottom - x
	case 8:
		return right - y, x
	}
	return x, y
}

// Stored returns the part of the stored picture that holds the part (x, y, w, h) of the upright one.
func Stored(orientation, width, height, x, y, w, h int) (sx, sy, sw, sh int) {
	ax, ay := At(orientation, width, height, x, y)
	bx, by := At(orientation, width, height, x+w-1, y+h-1)
	sx, sy = min(ax, bx), min(ay, by)
	return sx, sy, max(ax, bx) - sx + 1, max(ay, by) - sy + 1
}
