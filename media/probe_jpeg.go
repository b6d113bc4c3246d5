package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

func isJPEG(data []byte) bool { return bytes.HasPrefix(data, []byte("\xFF\xD8\xFF")) }

// Markers of a JPEG file: the second byte, after 0xFF.
const (
	sof0, sof1, sof2, sof9, sof10 = 0xC0, 0xC1, 0xC2, 0xC9, 0xCA // frames: baseline, extended, progressive; the last two arithmetic
	dht, jpgExtension, dac        = 0xC4, 0xC8, 0xCC             // no frames, although in the same range
	rst0, eoi, sos, app1          = 0xD0, 0xD9, 0xDA, 0xE1
	temporary                     = 0x01
)

// probeJPEG walks the segments up to the first scan. An image may carry several EXIF
// segments: the first counts.
func probeJPEG(data []byte) (Info, error) {
	info := Info{Format: JPEG, Orientation: 1, Bits: 8}
	var exif, xmp []byte
	var refused error

	for rest := data[2:]; ; {
		marker, body, after, err := nextSegment(rest)
		if err != nil {
			return info, err
		}
		rest = after

		switch {
		case marker == app1 && exif == nil && bytes.HasPrefix(body, exifPrefix):
			exif = body[len(exifPrefix):]
		case marker == app1 && xmp == nil && bytes.HasPrefix(body, xmpPrefix):
			xmp = body[len(xmpPrefix):]
		case isFrame(marker):
			if info.Components != 0 {
				return info, fmt.Errorf("%w: JPEG with two frames", ErrCorrupt)
			}
			if refused, err = frame(&info, marker, body); err != nil {
				return info, err
			}
		case marker == sos:
			if info.Components == 0 {
				return info, fmt.Errorf("%w: JPEG without a frame before its first scan", ErrCorrupt)
			}
			info.Orientation = orientation(exif, xmp)
			// A baseline image may have a scan for each component: its coefficients
			// are held like those of a progressive one.
			info.Scans = info.Progressive || len(body) > 0 && int(body[0]) < info.Components
			return info, refused
		}
	}
}

// nextSegment returns the next marker, its segment's content, and what follows. Like
// libjpeg, it passes over bytes that do not belong to any segment.
func nextSegment(data []byte) (marker byte, body, rest []byte, err error) {
	for {
		i := bytes.IndexByte(data, 0xFF)
		if i < 0 {
			return 0, nil, nil, fmt.Errorf("%w: JPEG ends before its first scan", ErrTruncated)
		}
		for data = data[i:]; len(data) > 0 && data[0] == 0xFF; {
			data = data[1:] // any number of 0xFF may be before the marker's code
		}
		if len(data) == 0 {
			return 0, nil, nil, fmt.Errorf("%w: JPEG ends before its first scan", ErrTruncated)
		}
		if marker = data[0]; marker != 0 {
			break
		}
	}

	data = data[1:]
	switch {
	case marker == eoi:
		return 0, nil, nil, fmt.Errorf("%w: JPEG without an image", ErrTruncated)
	case marker == temporary || marker >= rst0 && marker < rst0+8:
		return marker, nil, data, nil
	case len(data) < 2:
		return 0, nil, nil, fmt.Errorf("%w: JPEG ends before its first scan", ErrTruncated)
	}

	n := int(binary.BigEndian.Uint16(data))
	if n < 2 {
		return 0, nil, nil, fmt.Errorf("%w: JPEG segment of length %d", ErrCorrupt, n)
	}
	if n > len(data) {
		return 0, nil, nil, fmt.Errorf("%w: JPEG ends before its first scan", ErrTruncated)
	}
	return marker, data[2:n], data[n:], nil
}

func isFrame(marker byte) bool {
	switch marker {
	case dht, jpgExtension, dac: // among the frames, and none
		return false
	}
	return marker >= sof0 && marker <= 0xCF
}

// frame reads the frame header. refused says why the image, though valid, is not
// decoded.
func frame(info *Info, marker byte, body []byte) (refused, err error) {
	if len(body) < 6 {
		return nil, fmt.Errorf("%w: JPEG frame header of %d bytes", ErrCorrupt, len(body))
	}

	precision := body[0]
	info.Bits = int(precision)
	info.Height = int(binary.BigEndian.Uint16(body[1:]))
	info.Width = int(binary.BigEndian.Uint16(body[3:]))
	info.Components = int(body[5])
	info.Progressive = marker == sof2 || marker == sof10
	info.Arithmetic = marker == sof9 || marker == sof10

	if info.Components == 0 || len(body) != 6+3*info.Components {
		return nil, fmt.Errorf("%w: JPEG frame header of %d bytes for %d components", ErrCorrupt, len(body), info.Components)
	}
	if info.Width == 0 {
		return nil, fmt.Errorf("%w: JPEG of zero width", ErrCorrupt)
	}

	switch {
	case info.Width*info.Height > MaxPixels:
		return checkPixels(info.Width, info.Height, 0), nil
	case info.Height == 0:
		return fmt.Errorf("%w: JPEG that tells its height after its pixels", ErrUnsupported), nil
	case marker != sof0 && marker != sof1 && marker != sof2 && !info.Arithmetic:
		return fmt.Errorf("%w: JPEG process %d (lossless or hierarchical)", ErrUnsupported, marker-sof0), nil
	case precision != 8:
		return fmt.Errorf("%w: JPEG with %d bits per sample", ErrUnsupported, precision), nil
	case info.Components != 1 && info.Components != 3 && info.Components != 4:
		return fmt.Errorf("%w: JPEG with %d components", ErrUnsupported, info.Components), nil
	}
	return nil, nil
}
