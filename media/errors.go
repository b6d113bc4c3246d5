package media

import "errors"

// What can be wrong with a picture. Errors of this package and of decoders wrap exactly one of these; none, where memory has run out, for that is no
// fault of the picture.
var (
	// ErrFormat: the data are of no known format.
	ErrFormat = errors.New("media: unknown image format")
	// ErrTruncated: the data end too early.
	ErrTruncated = errors.New("media: truncated image")
	// ErrCorrupt: the data contradict their format.
	ErrCorrupt = errors.New("media: corrupt image")
	// ErrTooLarge: more than MaxPixels, on the way in or out.
	ErrTooLarge = errors.New("media: image too large")
	// ErrUnsupported: a valid picture of a kind that is not decoded.
	ErrUnsupported = errors.New("media: unsupported image")
	// ErrGeometry: the operations cannot be applied to a picture of this size, or are wrong in themselves.
	ErrGeometry = errors.New("media: impossible geometry")
)
