package media

import "fmt"

// Probe reads the header of a picture, without decoding or allocating anything. It tells formats by their content. For a picture
// that is valid but cannot be decoded, the error is ErrUnsupported or ErrTooLarge and Info is filled in all the same.
func Probe(data []byte) (Info, error) {
	if len(data) >= 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF {
		return probeJPEG(data)
	}
	if len(data) < 3 {
		return Info{}, fmt.Errorf("%w: %d bytes", ErrTruncated, len(data))
	}
	return Info{}, fmt.Errorf("%w: it begins with % x", ErrFormat, data[:min(len(data), 8)])
}
