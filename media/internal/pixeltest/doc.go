// Package pixeltest is the suites that decoders of whole images have to pass, a suite
// for each format: pixels equal Pillow's, and errors are of the right kind.
package pixeltest
