package stills

import "image"

// interpolatedRow writes a row of a lossy image as RGBA: luma as it is, chroma
// between the four samples around each pixel, weighted 9, 3, 3 and 1. Rounding is
// libwebp's, so that pixels are the same.
func interpolatedRow(line []byte, img *image.YCbCr, y int) {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	chromaRows := (height + 1) / 2
	near := y / 2
	far := near - 1 // the row of chroma on the other side of this row of pixels
	if y%2 == 1 {
		far = near + 1
	}
	far = min(max(far, 0), chromaRows-1)

	luma := img.Y[y*img.YStride:][:width]
	cb, cbFar := img.Cb[near*img.CStride:], img.Cb[far*img.CStride:]
	cr, crFar := img.Cr[near*img.CStride:], img.Cr[far*img.CStride:]
	last := (width - 1) / 2

	for x, v := range luma {
		// The sample of this pixel, and the one beside it on the side that the pixel is
		// nearer to. At the edges there is none.
		at := x / 2
		beside := at - 1
		if x%2 == 1 {
			beside = at + 1
		}

		var u, w int
		if beside < 0 || beside > last {
			u = (3*int(cb[at]) + int(cbFar[at]) + 2) >> 2
			w = (3*int(cr[at]) + int(crFar[at]) + 2) >> 2
		} else {
			u = between(int(cb[at]), int(cb[beside]), int(cbFar[at]), int(cbFar[beside]))
			w = between(int(cr[at]), int(cr[beside]), int(crFar[at]), int(crFar[beside]))
		}

		p := line[4*x:][:4:4]
		p[0], p[1], p[2] = limitedRGB(int(v), u, w)
		p[3] = 255
	}
}

// between weights a sample 9, its neighbours 3 and 3, and the one across 1, by way of
// the mean along the diagonal.
func between(near, beside, far, across int) int {
	diagonal := (near + beside + far + across + 8 + 2*(beside+far)) >> 3
	return (diagonal + near) >> 1
}

// limitedRGB converts BT.601 of limited range: luma from 16 to 235.
func limitedRGB(y, u, v int) (r, g, b byte) {
	luma := y * 19077 >> 8
	return clip(luma + v*26149>>8 - 14234), clip(luma - u*6419>>8 - v*13320>>8 + 8708), clip(luma + u*33050>>8 - 17685)
}

// clip takes six bits of fraction away.
func clip(v int) byte { return byte(min(max(v, 0)>>6, 255)) }
