package media

// turnHues goes round the circle of hues by factor. Hues are whole numbers, of which
// the circle has 256 although its beginning and its end, 0 and 255, are the same
// colour: so do Pillow and torchvision.
func turnHues(p Pixels, factor float32) {
	if p.Color == Gray {
		return
	}
	by := uint8(int64(float64(factor) * 255))
	n := p.Color.Channels()
	for y := range p.Height {
		for row := p.Row(y); len(row) > 0; row = row[n:] {
			h, s, v := toHSV(row[0], row[1], row[2])
			row[0], row[1], row[2] = fromHSV(h+by, s, v)
		}
	}
}

// toHSV returns hue, saturation and value as Pillow converts, all rounded down.
func toHSV(r, g, b uint8) (h, s, v uint8) {
	least, most := min(r, g, b), max(r, g, b)
	if least == most {
		return 0, 0, most
	}

	span := float32(most - least)
	missing := float32(most-(max(min(r, g), min(max(r, g), b)))) / span // of the middle colour

	// Sixths of the circle. Each sum is rounded once: where hues fall on a whole
	// number, rounding decides, and must be Pillow's.
	var sixths float32
	switch {
	case r == most && b <= g:
		sixths = 1 - missing
	case r == most:
		sixths = missing - 1
	case g == most && b <= r:
		sixths = 1 + missing
	case g == most:
		sixths = 3 - missing
	case r <= g:
		sixths = 3 + missing
	default:
		sixths = 5 - missing
	}

	turn := sixths / 6
	if turn < 0 {
		turn++
	}
	return uint8(float32(turn * 255)), uint8(255 * int(most-least) / int(most)), most
}

// fromHSV is Pillow's way back, rounded to the nearest. It needs no more than integers.
func fromHSV(h, s, v uint8) (r, g, b uint8) {
	const whole = 255 * 255
	sixth, rest := 6*int(h)/255, 6*int(h)%255
	if sixth%2 == 0 {
		rest = 255 - rest
	}
	least := uint8((int(v)*(255-int(s)) + 127) / 255)
	middle := uint8((int(v)*(whole-int(s)*rest) + whole/2) / whole)
	switch sixth {
	case 1:
		return middle, v, least
	case 2:
		return least, v, middle
	case 3:
		return least, middle, v
	case 4:
		return middle, least, v
	case 5:
		return v, least, middle
	}
	return v, middle, least
}
