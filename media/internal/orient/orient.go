// Package orient is the arithmetic of EXIF's eight orientations: which stored pixel
// is where when the image is upright, and what several of them come to.
package orient

// Every orientation is an exchange of the axes, or none, and a reversal of either axis
// of what is stored: see At.
var (
	reversesX = [9]bool{2: true, 3: true, 7: true, 8: true}
	reversesY = [9]bool{3: true, 4: true, 6: true, 7: true}
)

// Parts takes an orientation apart: the upright image is the stored one with its rows
// reversed (flipX: left and right are exchanged), with the order of its rows reversed
// (flipY), and then, if swap, mirrored at the diagonal from the upper left.
func Parts(orientation int) (flipX, flipY, swap bool) {
	return reversesX[orientation], reversesY[orientation], orientation > 4
}

func whole(flipX, flipY, swap bool) int {
	for o := 1; o <= 8; o++ {
		if reversesX[o] == flipX && reversesY[o] == flipY && (o > 4) == swap {
			return o
		}
	}
	panic("orient: not reached")
}

// At returns where the pixel (x, y) of the upright image is in the stored one, whose
// size is width × height.
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

// Stored returns the part of the stored image, whose size is width × height, that
// holds the part (x, y, w, h) of the upright one. The part may reach beyond the
// image.
func Stored(orientation, width, height, x, y, w, h int) (sx, sy, sw, sh int) {
	ax, ay := At(orientation, width, height, x, y)
	bx, by := At(orientation, width, height, x+w-1, y+h-1)
	sx, sy = min(ax, bx), min(ay, by)
	return sx, sy, max(ax, bx) - sx + 1, max(ay, by) - sy + 1
}

// Upright returns the part of the upright image that holds the part (x, y, w, h) of
// the stored one, whose size is width × height.
func Upright(orientation, width, height, x, y, w, h int) (ux, uy, uw, uh int) {
	width, height = Size(orientation, width, height)
	return Stored(Inverse(orientation), width, height, x, y, w, h)
}

// Size is that of the upright image.
func Size(orientation, width, height int) (w, h int) {
	if orientation > 4 {
		return height, width
	}
	return width, height
}

// Then is the orientation of an image that is turned by a and what comes of it by b.
func Then(a, b int) int {
	ax, ay, swap := Parts(a)
	bx, by, swapped := Parts(b)
	if swap { // the axes that b reverses are each other's
		bx, by = by, bx
	}
	return whole(ax != bx, ay != by, swap != swapped)
}

// Inverse is the orientation that undoes another.
func Inverse(orientation int) int {
	switch orientation {
	case 6:
		return 8
	case 8:
		return 6
	}
	return orientation
}
